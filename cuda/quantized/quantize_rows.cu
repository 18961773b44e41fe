// Activations to codes and back to the numbers that the codes stand for: what a product with quantised activations
// multiplies. A block takes a row; with groups, a warp takes every so many of its groups.
#include <cfloat>

#include "cuda/device/alignment.h"
#include "cuda/device/cuda_check.h"
#include "cuda/quantized/codes.cuh"
#include "cuda/quantized/quantized.h"

namespace octavo::cuda {
namespace {

constexpr int kThreads = 256;
constexpr float kLeastGroup = 1e-4f;

struct QuantizeArguments {
  Matrix out, x;
  ActivationQuantization how;
  bool isE4m3;
};

__device__ __forceinline__ float warpMaximum(float value) {
#pragma unroll
  for (int offset = 16; offset > 0; offset >>= 1) value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, offset));
  return value;
}

/** Nearest, ties to even, within ±448; NaN stays. 2¹⁴ has steps of 2⁻⁹ in fp32, those of e4m3's subnormals. */
__device__ __forceinline__ float nearestE4m3(float value) {
  float magnitude = fabsf(value);
  if (isnan(magnitude)) return value;
  if (magnitude >= 448.0f) return copysignf(448.0f, value);
  if (magnitude < 0x1p-6f) return copysignf(__fsub_rn(__fadd_rn(magnitude, 0x1p14f), 0x1p14f), value);
  uint32_t bits = __float_as_uint(magnitude);
  return copysignf(__uint_as_float((bits + 0x7ffffu + (bits >> 20 & 1u)) & ~0xfffffu), value);
}

__device__ __forceinline__ float nearestCode(float value, bool isE4m3) {
  if (isE4m3) return nearestE4m3(value);
  return isnan(value) ? value : rintf(fminf(fmaxf(value, -127.0f), 127.0f));
}

/** Columns first + lane, then `step` further, of a row. */
__device__ float largestOf(const Matrix& x, int64_t row, int64_t first, int64_t end, int step) {
  float largest = 0;
  for (int64_t k = first; k < end; k += step) {
    largest = fmaxf(largest, fabsf(loadFloat(x.data, x.dtype, row * x.stride + k)));
  }
  return largest;
}

__device__ void quantize(const QuantizeArguments& a, int64_t row, int64_t first, int64_t end, int step, float scale) {
  for (int64_t k = first; k < end; k += step) {
    float value = loadFloat(a.x.data, a.x.dtype, row * a.x.stride + k);
    float code = nearestCode(__fdiv_rn(value, scale), a.isE4m3);
    storeFloat(a.out.data, a.out.dtype, row * a.out.stride + k, __fmul_rn(code, scale));
  }
}

__device__ __forceinline__ float scaleOf(float largest, bool isE4m3) {
  return fmaxf(__fdiv_rn(largest, isE4m3 ? 448.0f : 127.0f), FLT_MIN);
}

__global__ void __launch_bounds__(kThreads) quantizeRowKernel(const __grid_constant__ QuantizeArguments a) {
  __shared__ float partial[kThreads / 32];
  int64_t row = blockIdx.x, columns = a.x.columns;
  float scale = a.how.inputScale;
  if (a.how.scaling == ActivationScaling::kToken) {
    float largest = warpMaximum(largestOf(a.x, row, threadIdx.x, columns, kThreads));
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = largest;
    __syncthreads();
    largest = 0;
#pragma unroll
    for (int warp = 0; warp < kThreads / 32; ++warp) largest = fmaxf(largest, partial[warp]);
    scale = scaleOf(largest, a.isE4m3);
  }
  quantize(a, row, threadIdx.x, columns, kThreads, scale);
}

__global__ void __launch_bounds__(kThreads) quantizeGroupsKernel(const __grid_constant__ QuantizeArguments a) {
  int64_t row = blockIdx.x, columns = a.x.columns, group = a.how.group;
  int lane = threadIdx.x % 32;
  for (int64_t first = threadIdx.x / 32 * group; first < columns; first += kThreads / 32 * group) {
    int64_t end = min(first + group, columns);
    float largest = fmaxf(warpMaximum(largestOf(a.x, row, first + lane, end, 32)), kLeastGroup);
    quantize(a, row, first + lane, end, 32, scaleOf(largest, a.isE4m3));
  }
}

}  // namespace

void launchQuantizeRows(const Matrix& out, const Matrix& x, CodeType type, const ActivationQuantization& how,
                        cudaStream_t stream) {
  QuantizeArguments a{out, x, how, type == CodeType::kE4M3};
  auto rows = static_cast<unsigned>(x.rows);
  if (how.scaling == ActivationScaling::kGroup) quantizeGroupsKernel<<<rows, kThreads, 0, stream>>>(a);
  else quantizeRowKernel<<<rows, kThreads, 0, stream>>>(a);
  checkLaunch("quantizeRows");
}

}  // namespace octavo::cuda
