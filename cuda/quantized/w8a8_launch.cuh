// Launches of the kernels for 8-bit codes. Included by one file a family, so that they compile side by side.
#pragma once

#include <algorithm>

#include "cuda/device/alignment.h"
#include "cuda/device/early_launch.h"
#include "cuda/device/shared_memory.h"
#include "cuda/device/tensor_map.h"
#include "cuda/quantized/w8a8.h"
#include "cuda/quantized/w8a8_kernel.cuh"

namespace octavo::cuda::w8a8 {

/** The fewest rows, a power of two from 8 on, that hold them all, or all of a tile's. */
inline int boxRowsFor(int64_t rows, int tileRows) {
  int box = std::min(8, tileRows);
  while (box < tileRows && box < rows) box *= 2;
  return box;
}

template <typename S>
Arguments argumentsOf(const Product& p) {
  const bool sharesX = S::kPairing == Pairing::kX, sharesWeight = S::kPairing == Pairing::kWeight;
  const int boxRows = sharesX ? S::kRows / 2 : boxRowsFor(S::kGrouped ? p.experts.mostRows : p.x.rows, S::kRows);
  const int boxColumns = sharesWeight ? S::kColumns / 2 : S::kColumns;
  Arguments a{codeMapOf(p.x.codes, p.x.rows, p.x.columns, p.x.stride, boxRows),
              codeMapOf(p.weight.codes, p.weight.rows, p.weight.columns, p.weight.codeStride, boxColumns),
              {},
              p.out,
              p.bias,
              p.x.scales,
              p.x.scaleStride,
              {p.weight.scales, p.weight.scaleType, 0},
              p.weight.groupRows,
              static_cast<int32_t>(ceilDivide(p.x.columns, kDepth)),
              static_cast<int32_t>(ceilDivide(p.out.rows, S::kRows)),
              static_cast<int32_t>(ceilDivide(p.out.columns, S::kColumns)),
              boxRows,
              S::kSums >= 32 && p.out.dtype != DType::kF32 && isChunked(p.out),
              p.experts};
  if (a.storesTiles) a.outMap = tensorMapOf(p.out, 64);
  return a;
}

/**
 * The kernel may start while the one before still runs, and waits for it where it needs x: a ring of the weight is
 * read meanwhile.
 */
template <typename S, typename Codes, Scaling kScaling>
void launch(const Product& p, const DeviceTraits& traits, cudaStream_t stream) {
  constexpr auto kKernel = w8a8Kernel<S, Codes, kScaling>;
  allowSharedMemory<kKernel>(S::kSharedBytes);
  const Arguments a = argumentsOf<S>(p);
  const int64_t resident = std::max(1, traits.multiprocessors / S::kBlocks);
  const int64_t tiles = ceilDivide(a.rowTiles, S::kPairRows) * ceilDivide(a.columnTiles, S::kPairColumns);
  const int64_t pairs = S::kGrouped ? resident : tiles;  // the device alone knows the tiles of experts
  const dim3 blocks(static_cast<unsigned>(std::min(pairs, resident) * S::kBlocks));
  launchEarly(kKernel, {blocks, dim3(kThreads), S::kSharedBytes, stream, S::kBlocks}, "w8a8", a);
}

using FewRows = Shape<1, 32, false, Pairing::kNone>;  // 64 × 64
using FewRowsInHalves = Shape<1, 32, false, Pairing::kDepth>;
using SomeRows = Shape<1, 64, true, Pairing::kNone>;  // 128 × 64
using MoreRows = Shape<1, 128, true, Pairing::kNone>; // 128 × 128
/** 256 × 128. Sharing rows of x is worth it where fewer sums are promoted. */
template <typename Codes, Scaling kScaling>
using ManyRows = Shape<2, 128, true,
                       __is_same(Codes, ptx::E4m3Codes) && kScaling == Scaling::kRow ? Pairing::kX : Pairing::kNone>;

/** Waves of tiles by the time that one takes, in percent of one of 256 × 128. */
template <typename S>
int64_t costOf(const Product& p, const DeviceTraits& traits, int64_t tileCost) {
  const int64_t tiles = ceilDivide(p.out.rows, S::kRows) * ceilDivide(p.out.columns, S::kColumns);
  return ceilDivide(tiles, traits.multiprocessors) * tileCost;
}

/** With few rows K is halved where that brings twice as many blocks to a card which is not full. */
template <typename Codes, Scaling kScaling>
void launchFitting(const Product& p, const DeviceTraits& traits, cudaStream_t stream) {
  using Many = ManyRows<Codes, kScaling>;
  if (p.out.rows <= FewRows::kRows) {
    const int64_t tiles = ceilDivide(p.out.columns, FewRows::kColumns);
    const bool halves = 2 * tiles <= traits.multiprocessors && p.x.columns > 8 * kDepth;
    if (halves) launch<FewRowsInHalves, Codes, kScaling>(p, traits, stream);
    else launch<FewRows, Codes, kScaling>(p, traits, stream);
    return;
  }
  const int64_t some = costOf<SomeRows>(p, traits, 35), more = costOf<MoreRows>(p, traits, 54);
  const int64_t many = costOf<Many>(p, traits, 100);
  if (many <= some && many <= more) launch<Many, Codes, kScaling>(p, traits, stream);
  else if (more <= some) launch<MoreRows, Codes, kScaling>(p, traits, stream);
  else launch<SomeRows, Codes, kScaling>(p, traits, stream);
}

using GroupedFewRows = Shape<1, 128, false, Pairing::kNone, true>;  // 64 × 256
using GroupedMoreRows = Shape<1, 128, true, Pairing::kNone, true>;  // 128 × 128
using GroupedManyRows = Shape<2, 128, true, Pairing::kNone, true>;  // 256 × 128

/** By the rows that an expert may be expected to have. */
template <typename Codes, Scaling kScaling>
void launchGrouped(const Product& p, const DeviceTraits& traits, cudaStream_t stream) {
  const int64_t rows = std::min<int64_t>(p.experts.mostRows, ceilDivide(p.x.rows, p.experts.count));
  if (rows <= 64) launch<GroupedFewRows, Codes, kScaling>(p, traits, stream);
  else if (rows <= 192) launch<GroupedMoreRows, Codes, kScaling>(p, traits, stream);
  else launch<GroupedManyRows, Codes, kScaling>(p, traits, stream);
}

}  // namespace octavo::cuda::w8a8
