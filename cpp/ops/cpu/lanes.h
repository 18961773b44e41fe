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

OCTAVO_INLINE void loadLanes(Lanes& to, const float* from) { to = *reinterpret_cast<const LooseLanes*>(from); }
OCTAVO_INLINE void storeLanes(float* to, const Lanes& from) { *reinterpret_cast<LooseLanes*>(to) = from; }

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

}  // namespace
}  // namespace octavo::cpu
