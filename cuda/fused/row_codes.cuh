// Rows of x that become e4m3 codes on their way into shared memory, and rows of e4m3 codes to multiply them with.
//
// mma.m16n8k32 wants of row g and lane t the codes 4t … 4t + 3 and 16 + 4t … of each 32: as bytes what m16n8k16 wants, so
// both lie as they do there. Codes and scales are those of cuda/quantized/quantize_codes.cu, bit for bit.
#pragma once

#include <cuda_fp8.h>

#include <cfloat>

#include "cuda/fused/row_weights.cuh"

namespace octavo::cuda::rows {

constexpr int kKept = 8;                              // chunks of eight elements of a row that a thread keeps
constexpr int kEarly = 4;                             // of them whose norm is asked for ahead: no more registers
constexpr int kMostCodes = kKept * kChunk * kWorkers;  // columns, so
constexpr int kScaledCodes = 128;                     // that share a scale where groups have one
constexpr float kLeastGroup = 1e-4f;

/** Of 16-bit x. A thread takes chunks threadIdx.x + 256 · i of a row and keeps them until they are codes. */
class InputCodes {
 public:
  __device__ __forceinline__ InputCodes(const Arguments& a, uint8_t* shared)
      : a_(a), words_(reinterpret_cast<uint32_t*>(shared + a.layout.input)),
        scales_(reinterpret_cast<float*>(shared + a.layout.scales)),
        sums_(reinterpret_cast<float*>(shared + a.layout.sums)), rows_(static_cast<int>(a.x.rows)),
        chunks_(static_cast<int>(a.x.columns) / kChunk), isBf16_(a.x.dtype == DType::kBF16) {}

  __device__ __forceinline__ void bring() {
    uint4 early[kEarly];
    const bool isNormed = a_.norm.data != nullptr;
    if (isNormed) load<0>(early, a_.norm.data, 0);
    clearTail();
    ptx::waitForPredecessors();
    for (int row = 0; row < rows_; ++row) {
      uint4 kept[kKept];
      load<0>(kept, a_.x.data, row * a_.x.stride);
      if (isNormed) {
        const float factor = factorOf(kept, row);
        uint4 late[kKept - kEarly];
        load<kEarly>(late, a_.norm.data, 0);
#pragma unroll
        for (int i = 0; i < kKept; ++i) norm(kept[i], i < kEarly ? early[i] : late[i - kEarly], factor);
      }
      if (a_.activations.scaling == ActivationScaling::kGroup) codeGroups(kept, row);
      else codeRow(kept, row);
    }
  }

 private:
  __device__ __forceinline__ static int chunkOf(int i) { return i * kWorkers + static_cast<int>(threadIdx.x); }

  /** This thread's chunks from the kFirst-th on. */
  template <int kFirst, int kCount>
  __device__ __forceinline__ void load(uint4 (&to)[kCount], const void* data, int64_t start) const {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const int chunk = chunkOf(kFirst + i);
      to[i] = make_uint4(0, 0, 0, 0);
      if (chunk < chunks_) to[i] = loadOnce(static_cast<const uint16_t*>(data) + start + chunk * kChunk);
    }
  }

  __device__ __forceinline__ void clearTail() {
    const int end = a_.steps * rows_ * (kStepBytes / 4);
    for (int i = chunks_ / 8 * rows_ * 16 + static_cast<int>(threadIdx.x); i < end; i += kWorkers) words_[i] = 0;
  }

  __device__ __forceinline__ float factorOf(const uint4 (&kept)[kKept], int row) {
    float squares = 0;
#pragma unroll
    for (int i = 0; i < kKept; ++i) {
      float values[kChunk];
      unpackChunk(values, kept[i], isBf16_);
#pragma unroll
      for (int j = 0; j < kChunk; ++j) squares += values[j] * values[j];
    }
    const float* all = leave(warpSum(squares), row);
    squares = 0;
#pragma unroll
    for (int warp = 0; warp < kWarps; ++warp) squares += all[warp];
    return 1.0f / sqrtf(squares / static_cast<float>(a_.x.columns) + a_.epsilon);
  }

  __device__ __forceinline__ void norm(uint4& chunk, const uint4& weights, float factor) const {
    float values[kChunk], scales[kChunk];
    unpackChunk(values, chunk, isBf16_);
    unpackChunk(scales, weights, a_.norm.dtype == DType::kBF16);
#pragma unroll
    for (int j = 0; j < kChunk; ++j) values[j] = values[j] * factor * scales[j];
    uint32_t words[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      words[j] = isBf16_ ? packBf16(values[2 * j], values[2 * j + 1]) : packF16(values[2 * j], values[2 * j + 1]);
    }
    chunk = make_uint4(words[0], words[1], words[2], words[3]);
  }

  /** The warps' values, after all have left theirs. */
  __device__ __forceinline__ const float* leave(float value, int place) {
    if (threadIdx.x % 32 == 0) sums_[place * kWarps + threadIdx.x / 32] = value;
    meetWorkers();
    return sums_ + place * kWarps;
  }

  __device__ __forceinline__ float largestOf(const uint4& chunk) const {
    float values[kChunk], largest = 0;
    unpackChunk(values, chunk, isBf16_);
#pragma unroll
    for (int j = 0; j < kChunk; ++j) largest = fmaxf(largest, fabsf(values[j]));
    return largest;
  }

  __device__ __forceinline__ static float largestOfLanes(float value, int lanes) {
    for (int offset = lanes / 2; offset > 0; offset >>= 1) {
      value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, offset));
    }
    return value;
  }

  __device__ __forceinline__ static float scaleOf(float largest) {
    return fmaxf(__fdiv_rn(largest, 448.0f), FLT_MIN);
  }

  /** One scale a row. */
  __device__ __forceinline__ void codeRow(const uint4 (&kept)[kKept], int row) {
    float scale = a_.activations.inputScale;
    if (a_.activations.scaling == ActivationScaling::kToken) {
      float largest = 0;
#pragma unroll
      for (int i = 0; i < kKept; ++i) largest = fmaxf(largest, largestOf(kept[i]));
      const float* all = leave(largestOfLanes(largest, 32), static_cast<int>(kMostFusedRows) + row);
      largest = 0;
#pragma unroll
      for (int warp = 0; warp < kWarps; ++warp) largest = fmaxf(largest, all[warp]);
      scale = scaleOf(largest);
    }
#pragma unroll
    for (int i = 0; i < kKept; ++i) storeCodes(kept[i], chunkOf(i), row, scale);
    if (threadIdx.x == 0) scales_[row] = scale;
  }

  /** Sixteen neighbouring chunks share a scale, as sixteen lanes have them. */
  __device__ __forceinline__ void codeGroups(const uint4 (&kept)[kKept], int row) {
    constexpr int kLanes = kScaledCodes / kChunk;
#pragma unroll
    for (int i = 0; i < kKept; ++i) {
      const float scale = scaleOf(fmaxf(largestOfLanes(largestOf(kept[i]), kLanes), kLeastGroup));
      storeCodes(kept[i], chunkOf(i), row, scale);
      const bool isFirst = threadIdx.x % kLanes == 0 && chunkOf(i) < chunks_;
      if (isFirst) scales_[chunkOf(i) / kLanes * rows_ + row] = scale;
    }
  }

  /** Eight codes are half of what four lanes read at once. */
  __device__ __forceinline__ void storeCodes(const uint4& chunk, int index, int row, float scale) {
    if (index >= chunks_) return;
    float values[kChunk];
    unpackChunk(values, chunk, isBf16_);
    uint32_t words[2] = {};
#pragma unroll
    for (int j = 0; j < kChunk; j += 2) {
      const float2 pair = make_float2(__fdiv_rn(values[j], scale), __fdiv_rn(values[j + 1], scale));
      const uint32_t codes = __nv_cvt_float2_to_fp8x2(pair, __NV_SATFINITE, __NV_E4M3);
      words[j / 4] |= codes << (j % 4 * 8);
    }
    const int t = index % 2 * 2;
    words_[wordPlace(index / 2, row, rows_, t)] = words[0];
    words_[wordPlace(index / 2, row, rows_, t + 1)] = words[1];
  }

  const Arguments& a_;
  uint32_t* words_;
  float *scales_, *sums_;
  int rows_, chunks_;
  bool isBf16_;
};

/**
 * e4m3 rows as checkpoints have them. Products of 64 are summed by the tensor cores, those sums in fp32; kBlocks: each
 * times the scales of a block of the weight and of 128 columns of x, else a row's come in at the end.
 */
template <bool kBlocks>
class CodeRows {
 public:
  using Input = InputCodes;
  static constexpr bool kSeparates = false;

  __device__ __forceinline__ static void bring(const Arguments& a, const Cursor& to, int tile, int piece,
                                               uint64_t policy) {
    bringSlabs(a, to, tile, piece, policy);
  }

  __device__ __forceinline__ CodeRows(const Arguments& a, const uint8_t* shared)
      : a_(a), slab_(a), input_(reinterpret_cast<const uint4*>(shared + a.layout.input)),
        inputScales_(reinterpret_cast<const float*>(shared + a.layout.scales)), rows_(static_cast<int>(a.x.rows)) {}

  /** A lane keeps the scales of one piece: a load of them would take longer than a slot lasts. */
  __device__ __forceinline__ void beginTile(int tile) {
    if constexpr (kBlocks) {
      const int slab = slabOf(static_cast<int>(threadIdx.x % 32));
      const int64_t first = static_cast<int64_t>(tile) * a_.outputs;
      const int64_t second = a_.end == ProductEnd::kSwiglu ? first + a_.out.columns : first;
      upperScales_ = lowerScales_ = 0;
      if (slab >= a_.groups) return;
      upperScales_ = loadFloat(a_.scales, a_.scaleType, first / a_.groupRows * a_.groups + slab);
      lowerScales_ = loadFloat(a_.scales, a_.scaleType, second / a_.groupRows * a_.groups + slab);
    }
  }

  __device__ __forceinline__ void prepare(int piece) {
    x_ = inputOf(input_, piece * kWarps + static_cast<int>(threadIdx.x) / 32, rows_);
    if constexpr (kBlocks) {
      upper_ = __shfl_sync(0xffffffffu, upperScales_, piece);
      lower_ = __shfl_sync(0xffffffffu, lowerScales_, piece);
      const int slab = slabOf(piece), row = static_cast<int>(threadIdx.x % 4) * 2;
      first_ = slab < a_.groups && row < rows_ ? inputScales_[slab * rows_ + row] : 0.0f;
      second_ = slab < a_.groups && row + 1 < rows_ ? inputScales_[slab * rows_ + row + 1] : 0.0f;
    }
  }

  __device__ __forceinline__ void multiply(Sums& sums, uint32_t slot) const {
    uint32_t left[4];
    float products[4] = {};
    slab_.load(left, slot, 0);
    ptx::multiplyAddE4m3(products, left, x_.x, x_.y);
    slab_.load(left, slot, 1);
    ptx::multiplyAddE4m3(products, left, x_.z, x_.w);
    if constexpr (kBlocks) {
      sums.even[0] = fmaf(products[0], upper_ * first_, sums.even[0]);
      sums.even[1] = fmaf(products[1], upper_ * second_, sums.even[1]);
      sums.even[2] = fmaf(products[2], lower_ * first_, sums.even[2]);
      sums.even[3] = fmaf(products[3], lower_ * second_, sums.even[3]);
    } else {
#pragma unroll
      for (int i = 0; i < 4; ++i) sums.even[i] += products[i];
    }
  }

 private:
  __device__ __forceinline__ static int slabOf(int piece) {
    return piece * kSlabs + static_cast<int>(threadIdx.x) / 64;
  }

  const Arguments& a_;
  SlabRow slab_;
  const uint4* input_;
  const float* inputScales_;
  int rows_;
  uint4 x_;
  float upperScales_ = 0, lowerScales_ = 0, upper_ = 0, lower_ = 0, first_ = 0, second_ = 0;
};

}  // namespace octavo::cuda::rows
