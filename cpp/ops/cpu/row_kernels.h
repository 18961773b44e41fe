// The inner loops of the CPU kernels, compiled once per instruction set and picked once per process.
#pragma once

#include <cstdint>

#include "base/dtype.h"

namespace octavo::cpu {

/** Rows that `tile` and `weightedSum` read are padded with zeros to a multiple of this many floats. */
constexpr int64_t kPadding = 16;
/** `tile` computes columns in groups of this many; the weight rows past the last are zeros. */
constexpr int64_t kTileColumns = 4;
/** Dot products are summed in stretches of this depth, each in lanes, one stretch after the other. */
constexpr int64_t kDepthBlock = 1024;

constexpr int64_t padded(int64_t count) { return (count + kPadding - 1) / kPadding * kPadding; }

/**
 * All arithmetic is fp32. The order of a sum depends on its length alone, never on how many rows or columns
 * are computed together: `dots` and `tile` give the same bits.
 */
struct RowKernels {
  const char* name;  // "avx512", "avx2" or "baseline"

  void (*load)(float* to, const void* from, DType dtype, int64_t count);
  void (*store)(void* to, DType dtype, const float* from, int64_t count);

  /** out[n] = Σ_k x[k] · weight[n, k], weights as they are stored: the product with one row of activations, x padded. */
  void (*dots)(float* out, const float* x, const void* weight, DType dtype, int64_t stride, int64_t rows,
               int64_t depth);
  /** out[m, n] (+)= Σ_k x[m, k] · weight[n, k], both padded fp32, depth ≤ kDepthBlock. */
  void (*tile)(float* out, int64_t outStride, const float* x, int64_t xStride, int64_t rows, const float* weight,
               int64_t weightStride, int64_t columns, int64_t depth, bool accumulate);

  float (*sumOfSquares)(const float* x, int64_t count);
  float (*maximum)(const float* x, int64_t count);  // NaN ignored; −inf for none
  /** x[i] = e^(x[i] − shift); returns the sum. */
  float (*exponentials)(float* x, float shift, int64_t count);

  void (*add)(float* y, const float* x, int64_t count);
  void (*scale)(float* x, float factor, int64_t count);
  void (*scaleByWeight)(float* x, float factor, const float* weight, int64_t count);
  void (*swiglu)(float* gate, const float* up, int64_t count);  // gate = silu(gate) · up
  /** (a, b) = (a·cos − b·sin, b·cos + a·sin). */
  void (*rotate)(float* a, float* b, const float* cosines, const float* sines, int64_t count);
  /** sum[d] = sum[d] · correction + Σ_j weights[j] · rows[j, d]; width padded. */
  void (*weightedSum)(float* sum, float correction, const float* weights, const float* rows, int64_t stride,
                      int64_t count, int64_t width);
};

/** The best set this processor runs. OCTAVO_CPU_ISA=avx2|baseline in the environment asks for less. */
const RowKernels& rowKernels();

const RowKernels* avx512Kernels();  // nullptr where the build or the processor lacks it
const RowKernels* avx2Kernels();
const RowKernels* baselineKernels();

}  // namespace octavo::cpu
