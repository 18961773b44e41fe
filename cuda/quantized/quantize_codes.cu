// Activations to codes and scales: what the tensor cores multiply. One pass: a row, or a group, stays in registers
// between its largest magnitude and its codes. Codes and scales are those of quantize_rows.cu, bit for bit.
// Measured on an H200, bf16, K = 8192, within a product: 3 µs up to 64 rows, 40 to 48 at 4096 (100 MB: 25 to read and
// write).
#include <cuda_fp8.h>

#include <algorithm>
#include <cfloat>

#include "cuda/device/alignment.h"
#include "cuda/device/cuda_check.h"
#include "cuda/device/floats.cuh"
#include "cuda/ptx/cluster.cuh"
#include "cuda/quantized/quantized.h"

namespace octavo::cuda {
namespace {

constexpr int kRowThreads = 512;
constexpr int kManyRows = 256;  // from here on a thread takes several chunks of a row, before that as few as it can
constexpr int kGroup = 128, kGroupThreads = kGroup / kChunk, kGroupsThreads = 256;
constexpr float kLeastGroup = 1e-4f;

struct CodesArguments {
  CodedInput to;
  Matrix x;
  ActivationScaling scaling;
  float inputScale;
  bool isChunked;
};

/** Eight elements from `column` on, zeros past the last. */
__device__ __forceinline__ void loadInput(float (&values)[kChunk], const CodesArguments& a, int64_t row,
                                          int64_t column) {
  const bool isThere = column < a.x.columns;
  if (a.isChunked && isThere) return loadChunk(values, a.x.data, a.x.dtype, row * a.x.stride + column);
#pragma unroll
  for (int i = 0; i < kChunk; ++i) values[i] = 0;
  if (!isThere) return;
#pragma unroll
  for (int i = 0; i < kChunk; ++i) {
    if (column + i < a.x.columns) values[i] = loadFloat(a.x.data, a.x.dtype, row * a.x.stride + column + i);
  }
}

/**
 * Eight quotients, correctly rounded: by two of Newton's steps, whose remainders are exact where scale and values are
 * neither tiny nor huge.
 */
struct Divisor {
  float scale, inverse;
  bool isOrdinary;

  __device__ __forceinline__ explicit Divisor(float by) {
    scale = by;
    inverse = __frcp_rn(by);
    isOrdinary = by > 0x1p-60f && by < 0x1p60f;
  }

  __device__ __forceinline__ void divide(float (&to)[kChunk], const float (&values)[kChunk]) const {
    bool fits = isOrdinary;
#pragma unroll
    for (int i = 0; i < kChunk; ++i) {
      const float size = fabsf(values[i]);
      fits &= size < 0x1p60f && (size > 0x1p-30f || size == 0);
      const float first = values[i] * inverse;
      const float second = fmaf(fmaf(-first, scale, values[i]), inverse, first);
      to[i] = fmaf(fmaf(-second, scale, values[i]), inverse, second);
    }
    if (fits) return;
#pragma unroll
    for (int i = 0; i < kChunk; ++i) to[i] = __fdiv_rn(values[i], scale);
  }
};

__device__ __forceinline__ uint32_t codeOf(float value) {
  return static_cast<uint32_t>(static_cast<int>(rintf(fminf(fmaxf(value, -127.0f), 127.0f)))) & 0xffu;
}

template <bool kIsE4m3>
__device__ __forceinline__ void storeCodes(const CodesArguments& a, int64_t row, int64_t column,
                                           const float (&values)[kChunk], const Divisor& by) {
  if (column >= a.to.stride) return;
  uint32_t words[2] = {};
  float quotients[kChunk];
  by.divide(quotients, values);
#pragma unroll
  for (int i = 0; i < kChunk; i += 2) {
    const float low = quotients[i], high = quotients[i + 1];
    uint32_t codes;
    if constexpr (kIsE4m3) codes = __nv_cvt_float2_to_fp8x2(make_float2(low, high), __NV_SATFINITE, __NV_E4M3);
    else codes = codeOf(low) | codeOf(high) << 8;
    words[i / 4] |= codes << (i % 4 * 8);
  }
  *reinterpret_cast<uint2*>(a.to.codes + row * a.to.stride + column) = make_uint2(words[0], words[1]);
}

/** The largest magnitude, which NaN does not change, and whether there was one. */
struct Largest {
  float magnitude = 0;
  bool hasNan = false;
  __device__ __forceinline__ void take(const float (&values)[kChunk]) {
#pragma unroll
    for (int i = 0; i < kChunk; ++i) {
      magnitude = fmaxf(magnitude, fabsf(values[i]));
      hasNan |= isnan(values[i]);
    }
  }
};

__device__ __forceinline__ float blockMaximum(float value) {
  __shared__ float partial[kRowThreads / 32];
#pragma unroll
  for (int offset = 16; offset > 0; offset >>= 1) value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, offset));
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
  __syncthreads();
  value = 0;
  for (int warp = 0; warp < static_cast<int>(blockDim.x / 32); ++warp) value = fmaxf(value, partial[warp]);
  return value;
}

__device__ __forceinline__ float scaleOf(float largest, bool isE4m3) {
  return fmaxf(__fdiv_rn(largest, isE4m3 ? 448.0f : 127.0f), FLT_MIN);
}

/** The product of these codes may begin; what made x has ended. */
__device__ __forceinline__ void begin() {
#if __CUDA_ARCH__ >= 900
  ptx::waitForPredecessors();
  ptx::letSuccessorsBegin();
#endif
}

/** A block a row. A thread keeps kKept chunks of it; of longer rows the rest is read twice. */
template <bool kIsE4m3, int kKept>
__global__ void __launch_bounds__(kRowThreads) rowCodesKernel(const __grid_constant__ CodesArguments a) {
  begin();
  int64_t row = blockIdx.x, first = threadIdx.x * kChunk, step = static_cast<int64_t>(blockDim.x) * kChunk;
  float kept[kKept][kChunk], values[kChunk];
  Largest largest;
#pragma unroll
  for (int i = 0; i < kKept; ++i) loadInput(kept[i], a, row, first + i * step);
#pragma unroll
  for (int i = 0; i < kKept; ++i) largest.take(kept[i]);
  for (int64_t column = first + kKept * step; column < a.x.columns; column += step) {
    loadInput(values, a, row, column);
    largest.take(values);
  }
  float scale = a.inputScale;
  if (a.scaling == ActivationScaling::kToken) scale = scaleOf(blockMaximum(largest.magnitude), kIsE4m3);
  const Divisor by(scale);
#pragma unroll
  for (int i = 0; i < kKept; ++i) storeCodes<kIsE4m3>(a, row, first + i * step, kept[i], by);
  for (int64_t column = first + kKept * step; column < a.to.stride; column += step) {
    loadInput(values, a, row, column);
    storeCodes<kIsE4m3>(a, row, column, values, by);
  }
  // int8 has no NaN: the scale says it for the row, whose products are all NaN by the definition.
  bool hasNan = !kIsE4m3 && __syncthreads_or(largest.hasNan);
  if (threadIdx.x == 0) a.to.scales[row] = hasNan ? __uint_as_float(0x7fc00000u) : scale;
}

/** A thread a chunk; sixteen have a group. */
__global__ void __launch_bounds__(kGroupsThreads) groupCodesKernel(const __grid_constant__ CodesArguments a) {
  begin();
  int64_t row = blockIdx.x, column = (static_cast<int64_t>(blockIdx.y) * kGroupsThreads + threadIdx.x) * kChunk;
  float values[kChunk];
  loadInput(values, a, row, column);
  Largest largest;
  largest.take(values);
  float most = largest.magnitude;
#pragma unroll
  for (int offset = kGroupThreads / 2; offset > 0; offset >>= 1) {
    most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, offset));
  }
  float scale = scaleOf(fmaxf(most, kLeastGroup), true);
  storeCodes<true>(a, row, column, values, Divisor(scale));
  if (threadIdx.x % kGroupThreads == 0 && column < a.x.columns) {
    a.to.scales[column / kGroup * a.to.scaleStride + row] = scale;
  }
}

}  // namespace

void launchQuantizeCodes(const CodedInput& to, const Matrix& x, CodeType type, const ActivationQuantization& how,
                         const DeviceTraits& traits, cudaStream_t stream) {
  const CodesArguments a{to, x, how.scaling, how.inputScale, isChunked(x)};
  cudaLaunchAttribute early;
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(x.rows));
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs = traits.architecture >= 90 ? 1 : 0;  // code for sm_80 does not wait for what makes x
  if (how.scaling == ActivationScaling::kGroup) {
    config.gridDim.y = static_cast<unsigned>(ceilDivide(to.stride, kGroupsThreads * kChunk));
    config.blockDim = dim3(kGroupsThreads);
    check(cudaLaunchKernelEx(&config, groupCodesKernel, a), "quantizeCodes");
    return;
  }
  const auto launch = [&]<int kKept>() {
    const int64_t threads = std::min<int64_t>(ceilDivide(to.stride, 32 * kChunk * kKept) * 32, kRowThreads);
    config.blockDim = dim3(static_cast<unsigned>(threads));
    const auto kernel = type == CodeType::kE4M3 ? rowCodesKernel<true, kKept> : rowCodesKernel<false, kKept>;
    check(cudaLaunchKernelEx(&config, kernel, a), "quantizeCodes");
  };
  if (x.rows < kManyRows) launch.template operator()<2>();
  else launch.template operator()<4>();
}

}  // namespace octavo::cuda
