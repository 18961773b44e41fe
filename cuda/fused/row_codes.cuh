// Rows of x that become e4m3 codes on their way into shared memory, and rows of e4m3 codes to multiply them with.
//
// A word of four codes lies where two numbers would; its halves are multiplied in two products (CodeRows). Codes and scales
// are those of cuda/quantized/quantize_codes.cu, bit for bit.
#pragma once

#include <cuda_fp8.h>

#include <cfloat>

#include "cuda/fused/row_weights.cuh"
#include "cuda/ptx/numbers.cuh"

namespace octavo::cuda::rows {

constexpr int kKept = 4;                              // chunks of eight elements of a row that a thread keeps
constexpr int kEarly = 2;                             // of them whose norm is asked for ahead: no more registers
constexpr int kMostCodes = kKept * kChunk * kWorkers;  // columns, so
constexpr int kScaledCodes = 128;                     // that share a scale where groups have one
constexpr float kLeastGroup = 1e-4f;

/**
 * Quotients, correctly rounded: one step from the product with the rounded inverse, whose remainder is exact where both are
 * neither tiny nor huge (all scales against all values of 11 bits: no difference). So both are scaled to be neither.
 */
class Divisor {
 public:
  __device__ __forceinline__ explicit Divisor(float by) {
    factor_ = by < 0x1p-60f ? 0x1p64f : by > 0x1p60f ? 0x1p-64f : 1.0f;
    by_ = by * factor_;
    inverse_ = __frcp_rn(by_);
  }
  /** A code has its largest value long before kHuge, so a quotient that would be infinite may be that. */
  __device__ __forceinline__ float quotient(float value) const {
    constexpr float kHuge = 0x1p20f;
    value *= factor_;
    const float first = fminf(fmaxf(value * inverse_, -kHuge), kHuge);
    return fmaf(fmaf(-first, by_, value), inverse_, first);
  }

 private:
  float by_, factor_, inverse_;
};

/** Of 16-bit x. A thread takes chunks threadIdx.x + 512 · i of a row and keeps them until they are codes. */
template <DType kType, bool kGroups>
class InputCodes {
 public:
  __device__ __forceinline__ InputCodes(const Arguments& a, uint8_t* shared)
      : a_(a), words_(reinterpret_cast<uint32_t*>(shared + a.layout.input)),
        scales_(reinterpret_cast<float*>(shared + a.layout.scales)),
        sums_(reinterpret_cast<float*>(shared + a.layout.sums)), rows_(static_cast<int>(a.x.rows)),
        chunks_(static_cast<int>(a.x.columns) / kChunk), mine_((chunks_ + kWorkers - 1) / kWorkers),
        place_(wordPlace(static_cast<int>(threadIdx.x / 2), 0, rows_, static_cast<int>(threadIdx.x % 2) * 2)) {}

  __device__ __forceinline__ void bring() {
    uint4 early[kEarly];
    const bool isNormed = a_.norm.data != nullptr;
    if (isNormed) load(early, a_.norm.data, 0);
    clearTail();
    ptx::waitForPredecessors();
#pragma unroll 1
    for (int row = 0; row < rows_; ++row) {
      uint4 kept[kKept];
      load(kept, a_.x.data, row * a_.x.stride);
      if (isNormed) normRow(kept, early, row);
      if constexpr (kGroups) codeGroups(kept, row);
      else codeRow(kept, row);
    }
  }

 private:
  static constexpr bool kIsBf16 = kType == DType::kBF16;

  __device__ __forceinline__ static int chunkOf(int i) { return i * kWorkers + static_cast<int>(threadIdx.x); }

  /** Does `each` with the places of a thread's chunks, of which few rows have all: code that nobody runs is jumped over. */
  template <typename Each>
  __device__ __forceinline__ void forMine(const Each& each) const {
#pragma unroll
    for (int i = 0; i < kKept; ++i) {
      if (i < mine_) each(i);
    }
  }

  /** Eight numbers of a chunk. Twice as many registers would hold them all from one pass over a row to the next. */
  __device__ __forceinline__ static void unpack(float (&values)[kChunk], uint4 chunk, bool isBf16 = kIsBf16) {
    ptx::keep(chunk.x);
    ptx::keep(chunk.y);
    ptx::keep(chunk.z);
    ptx::keep(chunk.w);
    unpackChunk(values, chunk, isBf16);
  }

  template <int kCount>
  __device__ __forceinline__ void load(uint4 (&to)[kCount], const void* data, int64_t start) const {
    const uint16_t* const from = static_cast<const uint16_t*>(data) + start + chunkOf(0) * kChunk;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      to[i] = make_uint4(0, 0, 0, 0);
      if (chunkOf(i) < chunks_) to[i] = loadOnce(from + i * kWorkers * kChunk);
    }
  }

  __device__ __forceinline__ void clearTail() {
    const int end = a_.steps * rows_ * (kStepBytes / 4);
    for (int i = chunks_ / 8 * rows_ * 16 + static_cast<int>(threadIdx.x); i < end; i += kWorkers) words_[i] = 0;
  }

  __device__ __forceinline__ void normRow(uint4 (&kept)[kKept], const uint4 (&early)[kEarly], int row) {
    float squares = 0;
    forMine([&](int i) {
      float values[kChunk];
      unpack(values, kept[i]);
#pragma unroll
      for (int j = 0; j < kChunk; ++j) squares += values[j] * values[j];
    });
    const float* all = leave(warpSum(squares), row);
    squares = 0;
#pragma unroll
    for (int warp = 0; warp < kWarps; ++warp) squares += all[warp];
    const float factor = 1.0f / sqrtf(squares / static_cast<float>(a_.x.columns) + a_.epsilon);
    forMine([&](int i) {
      uint4 weights = make_uint4(0, 0, 0, 0);
      if (i < kEarly) weights = early[i % kEarly];
      else if (chunkOf(i) < chunks_) weights = loadOnce(static_cast<const uint16_t*>(a_.norm.data) + chunkOf(i) * kChunk);
      norm(kept[i], weights, factor);
    });
  }

  __device__ __forceinline__ void norm(uint4& chunk, const uint4& weights, float factor) const {
    float values[kChunk], scales[kChunk];
    unpack(values, chunk);
    unpack(scales, weights, a_.norm.dtype == DType::kBF16);
#pragma unroll
    for (int j = 0; j < kChunk; ++j) values[j] = values[j] * factor * scales[j];
    uint32_t words[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      words[j] = kIsBf16 ? packBf16(values[2 * j], values[2 * j + 1]) : packF16(values[2 * j], values[2 * j + 1]);
    }
    chunk = make_uint4(words[0], words[1], words[2], words[3]);
  }

  /** The warps' values, after all have left theirs. */
  __device__ __forceinline__ const float* leave(float value, int place) {
    if (threadIdx.x % 32 == 0) sums_[place * kWarps + threadIdx.x / 32] = value;
    meetWorkers();
    return sums_ + place * kWarps;
  }

  __device__ __forceinline__ static float largestOf(const uint4& chunk) {
    float values[kChunk], largest = 0;
    unpack(values, chunk);
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
      forMine([&](int i) { largest = fmaxf(largest, largestOf(kept[i])); });
      const float* all = leave(largestOfLanes(largest, 32), static_cast<int>(kMostFusedRows) + row);
      largest = 0;
#pragma unroll
      for (int warp = 0; warp < kWarps; ++warp) largest = fmaxf(largest, all[warp]);
      scale = scaleOf(largest);
    }
    const Divisor by(scale);
    forMine([&](int i) { storeCodes(kept[i], i, row, by); });
    if (threadIdx.x == 0) scales_[row] = scale;
  }

  /** Sixteen neighbouring chunks share a scale, as sixteen lanes have them. */
  __device__ __forceinline__ void codeGroups(const uint4 (&kept)[kKept], int row) {
    constexpr int kLanes = kScaledCodes / kChunk;
    forMine([&](int i) {
      const float scale = scaleOf(fmaxf(largestOfLanes(largestOf(kept[i]), kLanes), kLeastGroup));
      storeCodes(kept[i], i, row, Divisor(scale));
      const bool isFirst = threadIdx.x % kLanes == 0 && chunkOf(i) < chunks_;
      if (isFirst) scales_[chunkOf(i) / kLanes * rows_ + row] = scale;
    });
  }

  /** Eight codes are half of what four lanes read at once. */
  __device__ __forceinline__ void storeCodes(const uint4& chunk, int i, int row, const Divisor& by) {
    if (chunkOf(i) >= chunks_) return;
    float values[kChunk];
    unpack(values, chunk);
    uint32_t words[2] = {};
#pragma unroll
    for (int j = 0; j < kChunk; j += 2) {
      const float2 pair = make_float2(by.quotient(values[j]), by.quotient(values[j + 1]));
      const uint32_t codes = __nv_cvt_float2_to_fp8x2(pair, __NV_SATFINITE, __NV_E4M3);
      words[j / 4] |= codes << (j % 4 * 8);
    }
    uint32_t* const to = words_ + place_ + (i * (kWorkers / 8) * rows_ + row) * 16;
    to[0] = words[0];
    to[4] = words[1];
  }

  const Arguments& a_;
  uint32_t* words_;
  float *scales_, *sums_;
  int rows_, chunks_;
  int mine_;   // chunks of a thread, at most
  int place_;  // of its first chunk's first word
};

/**
 * e4m3 rows as checkpoints have them. Codes become fp16, which is exact, so that they meet in the tensor cores' products of
 * 16 bits: sm_90 has no others a warp, and what the compiler makes of those of 8 bits is the same. kBlocks: sums of 64
 * columns are scaled by those of a block of the weight and of 128 columns of x, else a row's scales come in at the end.
 */
template <DType kType, bool kBlocks>
class CodeRows {
 public:
  using Input = InputCodes<kType, kBlocks>;
  static constexpr bool kSeparates = false;
  static constexpr int kTogether = 2;

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
      const auto first = static_cast<uint32_t>(tile * a_.outputs), rows = static_cast<uint32_t>(a_.groupRows);
      const uint32_t second = a_.end == ProductEnd::kSwiglu ? first + static_cast<uint32_t>(a_.out.columns) : first;
      upperScales_ = lowerScales_ = 0;
      if (slab >= a_.groups) return;
      upperScales_ = loadFloat(a_.scales, a_.scaleType, int64_t{first / rows} * a_.groups + slab);
      lowerScales_ = loadFloat(a_.scales, a_.scaleType, int64_t{second / rows} * a_.groups + slab);
    }
  }

  template <int kSlots>
  __device__ __forceinline__ void prepare(int piece) {
#pragma unroll
    for (int i = 0; i < kSlots; ++i) {
      x_[i] = inputOf(input_, (piece + i * kTeams) * kTeamWarps + teamWarp(), rows_);
      if constexpr (kBlocks) scales_[i] = scalesOf(piece + i * kTeams);
    }
  }

  template <int kSlots>
  __device__ __forceinline__ void multiply(Sums& sums, const uint32_t (&slots)[kSlots]) const {
    uint32_t left[kSlots][2][4];
#pragma unroll
    for (int i = 0; i < kSlots; ++i) {
      slab_.load(left[i][0], slots[i], 0);
      slab_.load(left[i][1], slots[i], 1);
    }
    if constexpr (!kBlocks) {
#pragma unroll
      for (int i = 0; i < kSlots; ++i) {
        multiplyCodes(sums.even, left[i][0], x_[i].x, x_[i].y);
        multiplyCodes(sums.odd, left[i][1], x_[i].z, x_[i].w);
      }
      return;
    }
    Sums products[kSlots];
#pragma unroll
    for (int i = 0; i < kSlots; ++i) {
      multiplyCodes(products[i].even, left[i][0], x_[i].x, x_[i].y);
      multiplyCodes(products[i].odd, left[i][1], x_[i].z, x_[i].w);
    }
#pragma unroll
    for (int i = 0; i < kSlots; ++i) {
      const float *even = products[i].even, *odd = products[i].odd;
      const Scales& by = scales_[i];
      sums.even[0] = fmaf(even[0] + odd[0], by.upper * by.first, sums.even[0]);
      sums.even[1] = fmaf(even[1] + odd[1], by.upper * by.second, sums.even[1]);
      sums.even[2] = fmaf(even[2] + odd[2], by.lower * by.first, sums.even[2]);
      sums.even[3] = fmaf(even[3] + odd[3], by.lower * by.second, sums.even[3]);
    }
  }

 private:
  struct Scales {
    float upper, lower;   // of the weight: rows g and g + 8
    float first, second;  // of x: rows 2t and 2t + 1
  };

  __device__ __forceinline__ static int slabOf(int piece) {
    return piece * kSlabs + teamWarp() / 2;
  }

  __device__ __forceinline__ Scales scalesOf(int piece) const {
    Scales scales;
    scales.upper = __shfl_sync(0xffffffffu, upperScales_, piece);
    scales.lower = __shfl_sync(0xffffffffu, lowerScales_, piece);
    const int slab = slabOf(piece), row = static_cast<int>(threadIdx.x % 4) * 2;
    scales.first = slab < a_.groups && row < rows_ ? inputScales_[slab * rows_ + row] : 0.0f;
    scales.second = slab < a_.groups && row + 1 < rows_ ? inputScales_[slab * rows_ + row + 1] : 0.0f;
    return scales;
  }

  /** 32 columns. Columns may come in any order that is the same on both sides: the codes of a word's halves. */
  __device__ __forceinline__ static void multiplyCodes(float (&sums)[4], const uint32_t (&left)[4], uint32_t x,
                                                       uint32_t y) {
#pragma unroll
    for (int half = 0; half < 32; half += 16) {
      uint32_t numbers[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) numbers[i] = ptx::e4m3Pair(left[i] >> half);
      ptx::multiplyAdd<DType::kF16>(sums, numbers, ptx::e4m3Pair(x >> half), ptx::e4m3Pair(y >> half));
    }
  }

  const Arguments& a_;
  SlabRow slab_;
  const uint4* input_;
  const float* inputScales_;
  int rows_;
  uint4 x_[kTogether];
  float upperScales_ = 0, lowerScales_ = 0;
  Scales scales_[kTogether];
};

}  // namespace octavo::cuda::rows
