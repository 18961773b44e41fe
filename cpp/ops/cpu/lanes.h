// A vector of kLanes floats. Included by row_kernels_*.cc only, after they define
// OCTAVO_LANES and OCTAVO_TILE_ROWS.
#pragma once

#include <cstdint>
#include <cstring>

namespace octavo::cpu {
namespace {

constexpr int kLanes = OCTAVO_LANES;
constexpr int kTileRows = OCTAVO_TILE_ROWS;  // accumulators of a patch must fit the registers

#if defined(__GNUC__)
#define OCTAVO_INLINE inline __attribute__((always_inline))

typedef float Lanes __attribute__((vector_size(kLanes * sizeof(float))));
typedef float LooseLanes __attribute__((vector_size(kLanes * sizeof(float)), aligned(4), may_alias));

typedef float Quad __attribute__((vector_size(4 * sizeof(float))));

OCTAVO_INLINE void loadLanes(Lanes& to, const float* from) { to = *reinterpret_cast<const LooseLanes*>(from); }
OCTAVO_INLINE void storeLanes(float* to, const Lanes& from) { *reinterpret_cast<LooseLanes*>(to) = from; }
OCTAVO_INLINE void prefetch(const void* address) { __builtin_prefetch(address, 0, 2); }

#else
#define OCTAVO_INLINE inline

struct Lanes {
  float value[kLanes];
  Lanes& operator+=(const Lanes& other) {
    for (int i = 0; i < kLanes; ++i) value[i] += other.value[i];
    return *this;
  }
  friend Lanes operator*(const Lanes& a, const Lanes& b) {
    Lanes product;
    for (int i = 0; i < kLanes; ++i) product.value[i] = a.value[i] * b.value[i];
    return product;
  }
  friend Lanes operator*(const Lanes& a, float b) {
    Lanes product;
    for (int i = 0; i < kLanes; ++i) product.value[i] = a.value[i] * b;
    return product;
  }
};

OCTAVO_INLINE void loadLanes(Lanes& to, const float* from) { std::memcpy(&to, from, sizeof to); }
OCTAVO_INLINE void storeLanes(float* to, const Lanes& from) { std::memcpy(to, &from, sizeof from); }
OCTAVO_INLINE void prefetch(const void*) {}

#endif

/** The sum of all lanes, by halves: a fixed tree. */
OCTAVO_INLINE float sumLanes(const Lanes& lanes) {
  float value[kLanes];
  storeLanes(value, lanes);
  for (int half = kLanes / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) value[i] += value[i + half];
  }
  return value[0];
}

#if defined(__GNUC__) && __has_builtin(__builtin_shufflevector)

/** The first halvings of that tree, down to four lanes. */
OCTAVO_INLINE void foldToQuad(Quad& quad, const Lanes& lanes) {
  Quad quads[kLanes / 4];
  std::memcpy(quads, &lanes, sizeof lanes);
  for (int half = kLanes / 8; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) quads[i] += quads[i + half];
  }
  quad = quads[0];
}

/** Four sums at once, each by the tree of sumLanes. */
OCTAVO_INLINE void sumFourLanes(float* sums, const Lanes* lanes) {
  Quad a, b, c, d;
  foldToQuad(a, lanes[0]);
  foldToQuad(b, lanes[1]);
  foldToQuad(c, lanes[2]);
  foldToQuad(d, lanes[3]);
  const Quad ab = __builtin_shufflevector(a, b, 0, 1, 4, 5) + __builtin_shufflevector(a, b, 2, 3, 6, 7);
  const Quad cd = __builtin_shufflevector(c, d, 0, 1, 4, 5) + __builtin_shufflevector(c, d, 2, 3, 6, 7);
  const Quad total = __builtin_shufflevector(ab, cd, 0, 2, 4, 6) + __builtin_shufflevector(ab, cd, 1, 3, 5, 7);
  std::memcpy(sums, &total, sizeof total);
}

#else

OCTAVO_INLINE void sumFourLanes(float* sums, const Lanes* lanes) {
  for (int i = 0; i < 4; ++i) sums[i] = sumLanes(lanes[i]);
}

#endif

}  // namespace
}  // namespace octavo::cpu
