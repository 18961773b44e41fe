// A case in device memory: a paged cache, its shuffled tables, queries, outputs and scratch.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/attention/attention.h"
#include "scripts/bench/native/attention_case.h"
#include "scripts/bench/native/device_array.h"

namespace octavo::bench {

/** Where the tokens of a case lie. */
struct PagedPlan {
  explicit PagedPlan(const AttentionCase& of);

  int32_t layers = 0;                        // as many as take turns without meeting in the L2
  int32_t maxQuery = 0, maxContext = 0;
  int32_t tableStride = 0;
  int64_t blocks = 0;                        // the poisoned one included
  int32_t poisoned = 0;                      // the block that unused entries of tables name
  std::vector<int32_t> table;                // [sequences, tableStride]
  std::vector<int32_t> queryStart;           // [sequences + 1]
};

/**
 * What a kernel must not read is NaN: cache tokens past each context, and the poisoned block. The output is NaN until
 * it is written.
 */
class PagedBatch {
 public:
  PagedBatch(const AttentionCase& of, cudaStream_t stream);

  int32_t layers() const { return plan_.layers; }
  const std::vector<int32_t>& queryStart() const { return plan_.queryStart; }
  const DeviceArray<uint16_t>& out() const { return out_; }
  cuda::PagedAttention attention(int32_t layer) const;

 private:
  void poisonTails(cudaStream_t stream);

  AttentionCase case_;
  PagedPlan plan_;
  KvCacheView view_;
  DeviceArray<uint8_t> cache_;
  DeviceArray<uint16_t> query_, out_;  // bf16
  DeviceArray<int32_t> queryStart_, context_, table_;
  DeviceArray<char> scratch_;
};

}  // namespace octavo::bench
