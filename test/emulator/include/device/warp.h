// What the lanes of a warp and the threads of a block do together (CUDA C++ Programming Guide, "Warp Shuffle
// Functions", "Warp Vote Functions", "Synchronization Functions").
#pragma once

#include <cstring>

#include "machine/thread.h"

namespace octavo::emulator {

template <class T>
struct Shuffled {
  T value;
  int source;  // lane
};

/** What lane `source` brought; poison from a lane that did not come. */
template <class T>
T shuffle(uint32_t mask, T value, int source) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "lanes exchange 32 or 64 bits");
  Shuffled<T> mine{value, source};
  meet(mask, mine, [](std::array<Shuffled<T>*, 32>& all) {
    T values[32];
    std::memset(values, 0xff, sizeof(values));
    for (int lane = 0; lane < 32; ++lane) if (all[lane]) values[lane] = all[lane]->value;
    for (Shuffled<T>* one : all) if (one) one->value = values[one->source];
  });
  return mine.value;
}

inline uint32_t ballot(uint32_t mask, bool vote) {
  uint32_t mine = vote;
  meet(mask, mine, [](std::array<uint32_t*, 32>& all) {
    uint32_t votes = 0;
    for (int lane = 0; lane < 32; ++lane) if (all[lane] && *all[lane]) votes |= 1u << lane;
    for (uint32_t* one : all) if (one) *one = votes;
  });
  return mine;
}

/** The first lane of the segment of `width` lanes that this one is in. */
inline int segmentOf(int lane, int width) { return lane & ~(width - 1); }

}  // namespace octavo::emulator

template <class T>
T __shfl_sync(uint32_t mask, T value, int source, int width = 32) {
  const int lane = octavo::emulator::self().lane;
  return octavo::emulator::shuffle(mask, value, octavo::emulator::segmentOf(lane, width) | (source & (width - 1)));
}

template <class T>
T __shfl_xor_sync(uint32_t mask, T value, int bits, int width = 32) {
  const int lane = octavo::emulator::self().lane, source = lane ^ bits;
  const bool within = source < octavo::emulator::segmentOf(lane, width) + width;
  return octavo::emulator::shuffle(mask, value, within ? source : lane);
}

template <class T>
T __shfl_up_sync(uint32_t mask, T value, unsigned distance, int width = 32) {
  const int lane = octavo::emulator::self().lane, source = lane - static_cast<int>(distance);
  return octavo::emulator::shuffle(mask, value, source >= octavo::emulator::segmentOf(lane, width) ? source : lane);
}

template <class T>
T __shfl_down_sync(uint32_t mask, T value, unsigned distance, int width = 32) {
  const int lane = octavo::emulator::self().lane, source = lane + static_cast<int>(distance);
  return octavo::emulator::shuffle(mask, value,
                                   source < octavo::emulator::segmentOf(lane, width) + width ? source : lane);
}

inline uint32_t __ballot_sync(uint32_t mask, int vote) { return octavo::emulator::ballot(mask, vote != 0); }
inline int __any_sync(uint32_t mask, int vote) { return octavo::emulator::ballot(mask, vote != 0) != 0; }
inline int __all_sync(uint32_t mask, int vote) { return octavo::emulator::ballot(mask, vote == 0) == 0; }

inline void __syncwarp(uint32_t mask = 0xffffffffu) {
  char nothing = 0;
  octavo::emulator::meet(mask, nothing, [](std::array<char*, 32>&) {});
}

inline void __syncthreads() { octavo::emulator::namedBarrier(0, 0, true); }
inline int __syncthreads_or(int value) { return octavo::emulator::countBarrier(value) != 0; }
inline int __syncthreads_and(int value) { return octavo::emulator::countBarrier(value == 0) == 0; }
inline int __syncthreads_count(int value) { return octavo::emulator::countBarrier(value); }
