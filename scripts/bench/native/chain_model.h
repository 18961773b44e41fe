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
  int64_t rows;                // sequences, each of one token
  const CodedFormat* format;   // of the layers, bf16 where none is given; the head is of bf16
  int32_t context;             // tokens of each; 0: products alone
};

/** The weights of the model, which cases of one format share: to make them takes longer than to time a case. */
class ChainWeights {
 public:
  struct Layer {
    std::unique_ptr<ChainWeight> qkv, output, gateUp, down;
  };
  ChainWeights(const CodedFormat* format, cudaStream_t stream);
  /** Of all weights. */
  size_t bytes() const;
  const std::vector<Layer>& layers() const { return layers_; }
  const ChainWeight& head() const { return *head_; }

 private:
  std::vector<Layer> layers_;
  std::unique_ptr<ChainWeight> head_;
};

/** What one case adds to them. */
class ChainModel {
 public:
  ChainModel(const ChainCase& of, const ChainWeights& weights, cudaStream_t stream);
  void step(const ChainLaunch& to) const;
  /** False where a logit is not finite. */
  bool isFinite() const;

 private:
  Matrix place(const DeviceArray<uint16_t>& memory, int64_t columns) const;
  void attend(int32_t layer, const ChainLaunch& to) const;

  ChainCase case_;
  const ChainWeights& weights_;
  DeviceArray<uint16_t> embedded_, residual_, norm_, qkv_, mixed_, activated_;
  DeviceArray<float> logits_, frequencies_;
  DeviceArray<int32_t> positions_;
  DeviceArray<int64_t> slots_;
  std::unique_ptr<PagedBatch> cache_;
};

}  // namespace octavo::bench
