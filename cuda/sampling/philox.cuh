// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011).
#pragma once

#include <cstdint>

namespace octavo::cuda {

/** The first output word for key = seed and counter = (position, 0, 0, 0). */
__device__ __forceinline__ uint32_t philoxWord(uint64_t seed, uint32_t position) {
  uint32_t counter[4] = {position, 0, 0, 0};
  uint32_t key[2] = {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    uint32_t high0 = __umulhi(0xd2511f53u, counter[0]), low0 = 0xd2511f53u * counter[0];
    uint32_t high1 = __umulhi(0xcd9e8d57u, counter[2]), low1 = 0xcd9e8d57u * counter[2];
    counter[0] = high1 ^ counter[1] ^ key[0];
    counter[1] = low1;
    counter[2] = high0 ^ counter[3] ^ key[1];
    counter[3] = low0;
    key[0] += 0x9e3779b9u;
    key[1] += 0xbb67ae85u;
  }
  return counter[0];
}

}  // namespace octavo::cuda
