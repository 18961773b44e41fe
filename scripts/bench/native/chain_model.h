// One decode step of an 8B model (32 layers, hidden 4096) as the chain of kernels that the engine replays, at random.
#pragma once

#include <vector>

#include "scripts/bench/native/chain_weight.h"
#include "scripts/bench/native/device_array.h"
#include "scripts/bench/native/paged_batch.h"

namespace octavo::bench {

/** A case of the chain. */
struct ChainCase {
  const char* name;
  int64_t rows;                        // sequences, each of one token
  std::optional<CodedFormat> format;   // of the layers; the head is of bf16
  int32_t context;                     // tokens of each; 0: products alone
  int sharing;                         // see ChainLaunch
};

class ChainModel {
 public:
  ChainModel(const ChainCase& of, cudaStream_t stream);
  /** Of all weights. */
  size_t bytes() const;
  void step(const ChainLaunch& to) const;
  /** False where a logit is not finite. */
  bool isFinite() const;

 private:
  struct Layer {
    std::unique_ptr<ChainWeight> qkv, output, gateUp, down;
  };
  Matrix place(const DeviceArray<uint16_t>& memory, int64_t columns) const;
  void attend(int32_t layer, const ChainLaunch& to) const;

  ChainCase case_;
  std::vector<Layer> layers_;
  std::unique_ptr<ChainWeight> head_;
  DeviceArray<uint16_t> embedded_, residual_, norm_, qkv_, mixed_, activated_;
  DeviceArray<float> logits_, frequencies_;
  DeviceArray<int32_t> positions_;
  DeviceArray<int64_t> slots_;
  std::unique_ptr<PagedBatch> cache_;
};

}  // namespace octavo::bench
