// A case of latent attention in device memory: the cache and its shuffled tables, or expanded keys; queries, outputs.
#pragma once

#include "cuda/attention/mla.h"
#include "scripts/bench/native/device_array.h"
#include "scripts/bench/native/latent_case.h"

namespace octavo::bench {

/**
 * Where the tokens of a case lie: rows of a cache by blocks, [blocks, layers, kBlockSize], or of expanded keys. What no
 * sequence has is NaN, and so is the output until it is written.
 */
class LatentBatch {
 public:
  LatentBatch(const LatentCase& of, cudaStream_t stream);

  /** As many layers as take turns without meeting in the L2; one, of expanded keys. */
  int32_t layers() const { return layers_; }
  const std::vector<int32_t>& queryStart() const { return starts_; }
  const DeviceArray<uint16_t>& out() const { return out_; }
  cuda::LatentAttention decode(int32_t layer) const;
  cuda::ExpandedAttention prefill() const;

 private:
  /** Rows in all of `keys_`. */
  size_t rows() const;
  void poisonTails(cudaStream_t stream);
  AttentionBatch batch() const;

  LatentCase case_;
  int32_t layers_, blocks_, tableStride_, maxContext_;
  std::vector<int32_t> table_, starts_;
  DeviceArray<uint16_t> keys_, ropeKey_, query_, out_;  // bf16; keys_: latents, or keys and values
  DeviceArray<int32_t> queryStart_, context_, deviceTable_;
  DeviceArray<char> scratch_;
};

}  // namespace octavo::bench
