// Whole blocks of a cache to other places, many in one launch: their numbers travel as an argument of the kernel, for
// the caller's list need not outlive the call. A copy of whole vectors has eight of 16 bytes a thread under way, as a
// card's memory wants it; the limit is bytes read and written, 2 · blockBytes each.
#include <algorithm>
#include <limits>

#include "cuda/attention/attention.h"
#include "cuda/device/alignment.h"
#include "cuda/device/cuda_check.h"

namespace octavo::cuda {
namespace {

constexpr int kThreads = 256, kUnroll = 8;
constexpr int kMostCopies = 480;  // in one launch: arguments end at 4 KiB

struct Arguments {
  char* to;
  const char* from;
  int64_t blockBytes;
  int32_t pieces;  // of a block
  BlockCopy copies[kMostCopies];
};
static_assert(sizeof(Arguments) <= 4000);

/** A block of threads a piece of kUnroll units a thread. */
template <typename Unit>
__global__ void __launch_bounds__(kThreads) copyBlocksKernel(const __grid_constant__ Arguments a) {
  const BlockCopy copy = a.copies[blockIdx.x / a.pieces];
  const Unit* const from = reinterpret_cast<const Unit*>(a.from + copy.from * a.blockBytes);
  Unit* const to = reinterpret_cast<Unit*>(a.to + copy.to * a.blockBytes);
  const int64_t units = a.blockBytes / static_cast<int64_t>(sizeof(Unit));
  const int64_t first = static_cast<int64_t>(blockIdx.x % a.pieces) * (kThreads * kUnroll) + threadIdx.x;
  Unit held[kUnroll];
#pragma unroll
  for (int i = 0; i < kUnroll; ++i) {
    if (first + i * kThreads < units) held[i] = __ldcs(from + first + i * kThreads);
  }
#pragma unroll
  for (int i = 0; i < kUnroll; ++i) {
    if (first + i * kThreads < units) __stcs(to + first + i * kThreads, held[i]);
  }
}

template <typename Unit>
void launch(Arguments& a, const BlockCopies& copies, cudaStream_t stream) {
  a.pieces = static_cast<int32_t>(ceilDivide(a.blockBytes, sizeof(Unit) * kThreads * kUnroll));
  const int64_t most = std::min<int64_t>(kMostCopies, std::numeric_limits<int32_t>::max() / a.pieces);
  for (int64_t first = 0; first < copies.count; first += most) {
    const int64_t count = std::min(most, copies.count - first);
    std::copy_n(copies.copies + first, count, a.copies);
    copyBlocksKernel<Unit><<<static_cast<unsigned>(count * a.pieces), kThreads, 0, stream>>>(a);
    checkLaunch("copyBlocks");
  }
}

bool areVectors(const BlockCopies& copies) {
  const auto to = reinterpret_cast<uintptr_t>(copies.to), from = reinterpret_cast<uintptr_t>(copies.from);
  return (to | from | copies.blockBytes) % sizeof(uint4) == 0;
}

}  // namespace

void launchCopyBlocks(const BlockCopies& copies, cudaStream_t stream) {
  Arguments a{static_cast<char*>(copies.to), static_cast<const char*>(copies.from),
              static_cast<int64_t>(copies.blockBytes), 0, {}};
  if (areVectors(copies)) launch<uint4>(a, copies, stream);
  else launch<char>(a, copies, stream);
}

}  // namespace octavo::cuda
