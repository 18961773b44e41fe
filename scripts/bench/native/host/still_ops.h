// Kernels that do nothing, and are counted: what is left of a step is the host's.
#pragma once

#include "ops/ops.h"

namespace octavo::bench {

class StillOps final : public Ops {
 public:
  /** Ops handed to the device so far. */
  uint64_t calls = 0;

  void convert(void*, DType, const void*, DType, int64_t, Stream&) override { ++calls; }
  void fillRandom(const RandomFill&, Stream&) override { ++calls; }
  void embedding(const Matrix&, const int32_t*, const Matrix&, Stream&) override { ++calls; }
  void gatherRows(const Matrix&, const Matrix&, const int32_t*, Stream&) override { ++calls; }
  void widenRows(int32_t*, int32_t, const int32_t*, const int32_t*, int32_t, Stream&) override { ++calls; }
  void fetchImage(void*, const ImageTurns&, Stream&) override { ++calls; }
  void storeImage(const ImageTurns&, const void*, size_t, Stream&) override { ++calls; }
  void rmsNorm(const Matrix&, const Matrix&, const Vector&, float, Stream&) override { ++calls; }
  void addRmsNorm(const Matrix&, const Matrix&, const Matrix&, const Vector&, float, Stream&) override { ++calls; }
  void add(const Matrix&, const Matrix&, Stream&) override { ++calls; }
  void headNorm(const Heads&, const Vector&, float, Stream&) override { ++calls; }
  void linear(const Matrix&, const Matrix&, const Matrix&, const Vector&, Stream&) override { ++calls; }
  void linear(const Matrix&, const Matrix&, const QuantizedMatrix&, const Vector&, const LinearScratch&,
              Stream&) override { ++calls; }
  void groupedLinear(const Matrix&, const Matrix&, const QuantizedMatrix&, const ExpertRows&, const LinearScratch&,
                     Stream&) override { ++calls; }
  void dequantize(const Matrix&, const QuantizedMatrix&, Stream&) override { ++calls; }
  void repack(const Repack&, Stream&) override { ++calls; }
  void arrange(QuantizedMatrix&, const LinearScratch&, Stream&) override { ++calls; }
  void rope(const Heads&, const Heads&, const int32_t*, const float*, float, Stream&) override { ++calls; }
  void kvWrite(const KvCacheView&, int32_t, const Heads&, const Heads&, const int64_t*, const KvScales&,
               Stream&) override { ++calls; }
  void ropeKvWrite(const KvCacheView&, int32_t, const RopeWrite&, Stream&) override { ++calls; }
  void copyBlocks(const BlockCopies&, Stream&) override { ++calls; }
  void pagedAttention(const Heads&, const Heads&, const KvCacheView&, int32_t, const AttentionBatch&, float,
                      const AttentionVariant&, const AttentionScratch&, Stream&) override { ++calls; }
  void latentWrite(const LatentCacheView&, int32_t, const Matrix&, const int64_t*, Stream&) override { ++calls; }
  void latentRead(const Matrix&, const LatentCacheView&, int32_t, const int64_t*, Stream&) override { ++calls; }
  void latentAttention(const Heads&, const Heads&, const LatentCacheView&, int32_t, const AttentionBatch&, float,
                       const AttentionScratch&, Stream&) override { ++calls; }
  void expandedAttention(const Heads&, const Heads&, const ExpandedKeys&, const AttentionBatch&, float,
                         Stream&) override { ++calls; }
  void swiglu(const Matrix&, const Matrix&, Stream&) override { ++calls; }
  void sample(const SampleArguments&, Stream&) override { ++calls; }
  void resolveTokens(int32_t*, int64_t, const int32_t*, Stream&) override { ++calls; }
  void resolveHistory(TokenCount*, const SamplingParams*, int32_t, const int32_t*, Stream&) override { ++calls; }
};

}  // namespace octavo::bench
