// Loads, stores and atomics. One thread runs at a time and none is interrupted: every access is atomic, every fence done.
#pragma once

#include <cstdint>

#include "machine/shared_memory.h"
#include "machine/thread.h"

template <class T> T __ldg(const T* from) { return *from; }
template <class T> T __ldcg(const T* from) { return *from; }
template <class T> T __ldca(const T* from) { return *from; }
template <class T> T __ldcs(const T* from) { return *from; }
template <class T> void __stcg(T* to, T value) { *to = value; }
template <class T> void __stcs(T* to, T value) { *to = value; }

inline void __threadfence() {}
inline void __threadfence_block() {}

inline uint32_t __cvta_generic_to_shared(const void* p) { return octavo::emulator::sharedAddress(p); }

namespace octavo::emulator {

/** *at becomes next(*at); what it was. */
template <class T, class Next>
T exchange(T* at, Next next) {
  const T before = *at;
  *at = next(before);
  return before;
}

}  // namespace octavo::emulator

template <class T> T atomicAdd(T* at, T by) { return octavo::emulator::exchange(at, [by](T old) { return static_cast<T>(old + by); }); }
template <class T> T atomicOr(T* at, T bits) { return octavo::emulator::exchange(at, [bits](T old) { return old | bits; }); }
template <class T> T atomicAnd(T* at, T bits) { return octavo::emulator::exchange(at, [bits](T old) { return old & bits; }); }
template <class T> T atomicMax(T* at, T value) { return octavo::emulator::exchange(at, [value](T old) { return old < value ? value : old; }); }
template <class T> T atomicMin(T* at, T value) { return octavo::emulator::exchange(at, [value](T old) { return value < old ? value : old; }); }
template <class T> T atomicExch(T* at, T value) { return octavo::emulator::exchange(at, [value](T) { return value; }); }
template <class T> T atomicCAS(T* at, T expected, T value) {
  return octavo::emulator::exchange(at, [=](T old) { return old == expected ? value : old; });
}
inline uint32_t atomicInc(uint32_t* at, uint32_t limit) {
  return octavo::emulator::exchange(at, [limit](uint32_t old) { return old >= limit ? 0 : old + 1; });
}
