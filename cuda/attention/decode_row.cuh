// What a lane of the decode kernel holds of a key or value: 8 elements as the cache has them, and their scales.
#pragma once

#include <type_traits>

#include "cuda/attention/cache_layout.cuh"
#include "cuda/device/floats.cuh"
#include "cuda/attention/code_pairs.cuh"

namespace octavo::cuda::decode {

/** Of a cache of codes; which ones they are is known at run time. */
using Code = uint8_t;

/** 8 elements in memory. */
template <typename Element>
struct alignas(sizeof(Element) * kChunk < 16 ? sizeof(Element) * kChunk : 16) Packed {
  uint32_t words[sizeof(Element) * kChunk / 4];
};

/** Elements of a key or value row that this lane holds; zeros past the head's dim. */
template <typename Element>
struct Row {
  Packed<Element> bits;

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (uint32_t& word : bits.words) word = 0;
  }
  /** Element by element where rows are not whole chunks. */
  __device__ __forceinline__ void load(const Element* from, int count, bool chunked) {
    if (chunked) {
      bits = *reinterpret_cast<const Packed<Element>*>(from);
      return;
    }
    Element* elements = reinterpret_cast<Element*>(bits.words);
#pragma unroll
    for (int i = 0; i < kChunk; ++i) {
      if (i < count) elements[i] = from[i];
    }
  }
  /** `dtype`: of codes. */
  __device__ __forceinline__ void unpack(float (&values)[kChunk], DType dtype) const {
    if constexpr (sizeof(Element) == 4) {
#pragma unroll
      for (int i = 0; i < kChunk; ++i) values[i] = __uint_as_float(bits.words[i]);
    } else if constexpr (sizeof(Element) == 2) {
      unpackChunk(values, {bits.words[0], bits.words[1], bits.words[2], bits.words[3]},
                  std::is_same_v<Element, __nv_bfloat16>);
    } else {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        uint32_t low, high;
        if (dtype == DType::kI8) widenInt8<DType::kF16>(bits.words[i], low, high);
        else widenE4m3<DType::kF16>(bits.words[i], low, high);
        unpackF16(low, values[4 * i], values[4 * i + 1]);
        unpackF16(high, values[4 * i + 2], values[4 * i + 3]);
      }
    }
  }
};

/** The scales of a key and its value; floats have none. */
template <typename Element>
struct RowScales {
  __device__ __forceinline__ void load(const CacheLayout&, int64_t, int, int) {}
  __device__ __forceinline__ float ofKey(float score) const { return score; }
  __device__ __forceinline__ float ofValue(float weight) const { return weight; }
};

template <>
struct RowScales<Code> {
  float key = 1, value = 1;  // as they are where all have one: it is taken into account once

  __device__ __forceinline__ void load(const CacheLayout& cache, int64_t block, int head, int token) {
    if (!cache.hasScales()) return;
    key = *cache.scale(block, 0, head, token);
    value = *cache.scale(block, 1, head, token);
  }
  __device__ __forceinline__ float ofKey(float score) const { return score * key; }
  __device__ __forceinline__ float ofValue(float weight) const { return weight * value; }
};

}  // namespace octavo::cuda::decode
