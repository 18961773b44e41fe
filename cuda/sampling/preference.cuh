// Prefixes of a row's tokens in the order of preference: larger z first, lower id on ties. What top-k and
// top-p keep is such a prefix, so it is described by its last token and needs no list and no sorting.
#pragma once

#include "cuda/sampling/block_sum.cuh"
#include "cuda/sampling/values.cuh"

namespace octavo::cuda::sampling {

/** Tokens with key above `key`, and those of that key up to `lastId`. */
struct Prefix {
  uint32_t key = 0;
  int32_t lastId = 0x7fffffff;
  __device__ __forceinline__ bool holds(uint32_t other, int32_t id) const {
    return other > key || (other == key && id <= lastId);
  }
};

/** Tokens whose values lie close together: a list while they fit one, otherwise the whole row, filtered. */
constexpr int kListed = 4096;
struct Candidates {
  int count;            // of the list, or more than kListed
  int32_t ids[kListed];
};

/** Calls body(id, z) for the tokens of `within` for which `belongs(z)`, from the list where there is one. */
template <typename Belongs, typename Body>
__device__ __forceinline__ void forCandidates(const Values& values, int count, const Prefix& within,
                                              const Candidates& candidates, Belongs belongs, Body body) {
  if (candidates.count <= kListed) {
    for (int i = threadIdx.x; i < candidates.count; i += kThreads) {
      int id = candidates.ids[i];
      body(id, values(id));
    }
    return;
  }
  forEach(values, count, [&](int id, float z) {
    if (belongs(z) && within.holds(orderedBits(z), id)) body(id, z);
  });
}

/**
 * The shortest prefix of `within` whose sum of measure(z) reaches targetOf(sum of `within`), which must be
 * between 1 and that sum. `maximum` is not below any value.
 *
 * A histogram over the distance to the maximum finds the range of values that holds the last token; three
 * more over the bits of the values in that range find the value itself. Tokens of equal value have equal
 * measure, so how many of them are needed follows by division; they are kept in the order of ids.
 */
template <typename Measure, typename TargetOf>
__device__ Prefix shortestPrefix(const Values& values, int count, float maximum, const Prefix& within, Scratch& scratch,
                                 Candidates& candidates, Measure measure, TargetOf targetOf) {
  constexpr float kBinsPerUnit = 64;  // 2048 bins reach 32 below the maximum, the rest shares the last one
  auto coarseBin = [maximum](float z) { return static_cast<int>(fminf((maximum - z) * kBinsPerUnit, kBins - 1)); };
  clearBins(scratch);
  forEach(values, count, [&](int id, float z) {
    if (within.holds(orderedBits(z), id)) addToBin(scratch, coarseBin(z), measure(z));
  });
  uint64_t target = targetOf(binTotal(scratch));
  int coarse = findBin(target, scratch);

  auto belongs = [&](float z) { return coarseBin(z) == coarse; };
  if (threadIdx.x == 0) candidates.count = 0;
  __syncthreads();
  forEach(values, count, [&](int id, float z) {
    if (!belongs(z) || !within.holds(orderedBits(z), id)) return;
    int slot = atomicAdd(&candidates.count, 1);  // the order of the list shows in no result
    if (slot < kListed) candidates.ids[slot] = id;
  });

  uint32_t known = 0, knownMask = 0;  // bits of the last token's key found so far
  for (int shift : {21, 10, 0}) {
    uint32_t mask = shift == 0 ? 0x3ffu : 0x7ffu;
    clearBins(scratch);
    forCandidates(values, count, within, candidates, belongs, [&](int, float z) {
      uint32_t key = orderedBits(z);
      if ((key & knownMask) != known) return;
      addToBin(scratch, static_cast<int>(mask - (key >> shift & mask)), measure(z));
    });
    uint32_t found = mask - static_cast<uint32_t>(findBin(target, scratch));
    known |= found << shift;
    knownMask |= mask << shift;
  }

  uint64_t own = 0;
  forCandidates(values, count, within, candidates, belongs, [&](int, float z) { own += orderedBits(z) == known; });
  uint64_t ties = blockTotal(own, scratch);
  uint64_t each = measure(valueOf(known));
  uint64_t wanted = (target + each - 1) / each;
  Prefix prefix{known, known == within.key ? within.lastId : 0x7fffffff};
  if (wanted < ties) {
    auto tied = [&](int id) {
      uint32_t key = orderedBits(values(id));
      return static_cast<uint64_t>(key == known && within.holds(key, id));
    };
    prefix.lastId = findFirst(count, scratch, tied, [wanted](uint64_t) { return wanted - 1; });
  }
  return prefix;
}

}  // namespace octavo::cuda::sampling
