// What ops/attention_variant.h adds to a softmax, as kernels take it. Scores and maxima are in log2 units.
#pragma once

#include "cuda/ptx/numbers.cuh"
#include "ops/attention_variant.h"
#include "ops/tensor.h"

namespace octavo::cuda {

constexpr float kLog2E = 1.4426950408889634f, kLn2 = 0.6931471805599453f;

struct Variant {
  float cap, inverseCap;  // soft cap · log2(e); 0: none
  const float* sinks;
  float* logSumExp;
  float valueScale;       // of all values
  int32_t heads;          // of the query

  Variant(const AttentionVariant& variant, const KvCacheView& cache, int32_t heads)
      : cap(variant.softCap * kLog2E), inverseCap(cap > 0 ? 1 / cap : 0.0f), sinks(variant.sinks),
        logSumExp(variant.logSumExp), valueScale(cache.scaling == KvScaling::kTensor ? variant.valueScale : 1.0f),
        heads(heads) {}

  /** What scores are multiplied by before they are in log2 units: with the scale of all keys. */
  static float scoreScale(const AttentionVariant& variant, const KvCacheView& cache, float scale) {
    return scale * kLog2E * (cache.scaling == KvScaling::kTensor ? variant.keyScale : 1.0f);
  }
};

/** A score under the soft cap, which is not 0. */
__device__ __forceinline__ float capped(float score, float cap) { return cap * tanhf(score / cap); }

/**
 * The same in ten instructions, to about 2⁻²² of the cap: what the products of 16-bit numbers deserve. Near 0, where
 * 1 − 2 / (1 + e^2x) has no digits left, the series of tanh.
 */
__device__ __forceinline__ float cappedRoughly(float score, float cap, float inverseCap) {
  const float x = score * inverseCap, square = x * x;
  const float far = 1.0f - __fdividef(2.0f, 1.0f + ptx::exp2Approximate(x * (2 * kLog2E)));
  const float near = fmaf(x * square, fmaf(square, 2.0f / 15, -1.0f / 3), x);
  return cap * (square < 0x1p-8f ? near : far);
}

/** What the sum of a row's weights · values is multiplied by in the end, and the row's log-sum-exp, a natural one. */
struct SoftmaxEnd {
  float factor, logSumExp;

  /** Weights are 2^(score − base), of which `sum` is the sum. The sink is a first key without a value. */
  __device__ __forceinline__ SoftmaxEnd(const Variant& variant, int head, float base, float sum) {
    float most = base, total = sum, left = 1;
    if (variant.sinks != nullptr) {
      const float sink = variant.sinks[head] * kLog2E;
      most = fmaxf(base, sink);
      left = exp2f(base - most);
      total = sum * left + exp2f(sink - most);
    }
    factor = total > 0 ? left / total * variant.valueScale : 0.0f;
    logSumExp = (most + log2f(total)) * kLn2;
  }

  /** By one lane of a row. */
  __device__ __forceinline__ void store(const Variant& variant, int64_t token, int head) const {
    if (variant.logSumExp != nullptr) variant.logSumExp[token * variant.heads + head] = logSumExp;
  }
};

}  // namespace octavo::cuda
