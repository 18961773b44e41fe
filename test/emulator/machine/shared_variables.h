// What stands in the place of shared memory's declarations.
#pragma once

#include <cstdint>

namespace octavo::emulator {

/** Where one __shared__ variable lies: one of these stands beside each, a static of its function. */
struct SharedPlace {
  uint64_t launch = 0;
  uint32_t offset = 0;
};

/** The variable of the thread that runs, of `bytes` bytes. */
void* sharedVariable(SharedPlace& place, uint32_t bytes, uint32_t alignment);
/** extern __shared__. */
void* dynamicShared();

template <class T, uint32_t kAlignment = alignof(T)>
T& shared(SharedPlace& place) {
  return *static_cast<T*>(sharedVariable(place, sizeof(T), kAlignment));
}

}  // namespace octavo::emulator
