// Weights of each dtype as lanes of fp32. Included by dot_kernels.h only.
#pragma once

#include "base/half.h"
#include "ops/cpu/lanes.h"

namespace octavo::cpu {
namespace {

#if defined(__GNUC__)

typedef uint32_t Words __attribute__((vector_size(kLanes * sizeof(uint32_t))));
typedef uint16_t LooseHalves __attribute__((vector_size(kLanes * sizeof(uint16_t)), aligned(2), may_alias));

OCTAVO_INLINE void loadWords(Words& to, const uint16_t* from) {
#if defined(__x86_64__) && OCTAVO_LANES == 16  // gcc 12 widens in two halves
  to = reinterpret_cast<Words>(_mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from))));
#elif defined(__x86_64__) && OCTAVO_LANES == 8
  to = reinterpret_cast<Words>(_mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
#else
  to = __builtin_convertvector(*reinterpret_cast<const LooseHalves*>(from), Words);
#endif
}

struct Fp32Weights {
  using Element = float;
  static OCTAVO_INLINE void load(Lanes& to, const float* from) { loadLanes(to, from); }
  static OCTAVO_INLINE float toFloat(float value) { return value; }
};

struct BrainWeights {
  using Element = uint16_t;
  static OCTAVO_INLINE void load(Lanes& to, const uint16_t* from) {
    Words words;
    loadWords(words, from);
    to = reinterpret_cast<Lanes>(words << 16);
  }
  static OCTAVO_INLINE float toFloat(uint16_t bits) { return brainToFloat(bits); }
};

/** One instruction where there is one, else the steps of halfToFloat on all lanes. */
struct HalfWeights {
  using Element = uint16_t;
  static OCTAVO_INLINE void load(Lanes& to, const uint16_t* from) {
#if defined(__x86_64__) && OCTAVO_LANES == 16
    to = reinterpret_cast<Lanes>(_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from))));
#elif defined(__x86_64__) && OCTAVO_LANES == 8
    to = reinterpret_cast<Lanes>(_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
#else
    Words half;
    loadWords(half, from);
    const Words magnitude = (half & 0x7fffu) << 13;
    const Words exponent = magnitude & 0x0f800000u;
    const Words special = reinterpret_cast<Words>(exponent == 0x0f800000u) & ((128u - 16u) << 23);
    const Words normal = magnitude + ((127u - 15u) << 23) + special;
    const Words subnormal =
        reinterpret_cast<Words>(reinterpret_cast<Lanes>((half & 0x3ffu) | 0x3f000000u) - 0.5f);
    const Words tiny = reinterpret_cast<Words>(exponent == 0u);
    to = reinterpret_cast<Lanes>((tiny & subnormal) | (~tiny & normal) | (half & 0x8000u) << 16);
#endif
  }
  static OCTAVO_INLINE float toFloat(uint16_t bits) { return halfToFloat(bits); }
};

#else

template <typename Type, float (*kConvert)(Type)>
struct ScalarWeights {
  using Element = Type;
  static void load(Lanes& to, const Type* from) {
    for (int lane = 0; lane < kLanes; ++lane) to.value[lane] = kConvert(from[lane]);
  }
  static float toFloat(Type value) { return kConvert(value); }
};

inline float sameFloat(float value) { return value; }

using Fp32Weights = ScalarWeights<float, sameFloat>;
using BrainWeights = ScalarWeights<uint16_t, brainToFloat>;
using HalfWeights = ScalarWeights<uint16_t, halfToFloat>;

#endif

/** The last `count` < kLanes weights of a row, zeros behind them. */
template <typename Weights>
OCTAVO_INLINE void loadTail(Lanes& to, const typename Weights::Element* from, int64_t count) {
  float values[kLanes] = {};
  for (int64_t lane = 0; lane < count; ++lane) values[lane] = Weights::toFloat(from[lane]);
  loadLanes(to, values);
}

}  // namespace
}  // namespace octavo::cpu
