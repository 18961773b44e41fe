// Where the warps of narrow_codes.cuh stand, and how their sums become the output.
#pragma once

#include "cuda/device/floats.cuh"
#include "cuda/ptx/cluster_halves.cuh"
#include "cuda/ptx/named_barriers.cuh"
#include "cuda/ptx/shared_memory.cuh"
#include "cuda/quantized/narrow_codes_share.cuh"
#include "cuda/quantized/tile_numbers.cuh"

namespace octavo::cuda {

/** Where a consumer's warp stands, and where a lane finds what it multiplies from the start of a stage on. */
template <typename Shape>
struct NarrowCodesLane {
  int team, rowTile, firstTile;  // the tile within a stage
  uint32_t x, codes, scales, zeros;

  __device__ __forceinline__ explicit NarrowCodesLane(const NarrowCodesArguments& a) {
    int group = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 128, 0);  // known to be a warp's
    int warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
    team = group / a.rowTiles;
    rowTile = group % a.rowTiles;
    firstTile = team * a.pairs * 2;
    x = firstTile * Shape::kTokenBytes;
    codes = a.depth * Shape::kTokenBytes + (rowTile * a.depth + firstTile) * tileBytes(Shape::kBits) +
            warp * stripBytes(Shape::kBits) + laneOffset<Shape::kBits>();
    scales = a.scalesAt + rowTile * a.groupSlots * kTileRows * 2 + warp * kStripRows * 2 + lane / 4 * 4;
    zeros = a.zerosAt + rowTile * a.groupSlots * kTileRows + warp * kStripRows + lane / 4 * 2;
    ptx::keep(codes);
    ptx::keep(scales);
    ptx::keep(zeros);
  }
};

/** Sums of a pass, [team][token][row]: lanes of four tokens meet different banks. */
template <typename Shape>
__device__ __forceinline__ void placeNarrow(const float (&sums)[Shape::kSums], const NarrowCodesArguments& a,
                                            const NarrowCodesLane<Shape>& lane, uint32_t memory) {
  int within = threadIdx.x % 32, row = lane.rowTile * kTileRows + threadIdx.x / 32 % 4 * kStripRows + within / 4;
  int stride = a.rowTiles * kTileRows + 4;
  uint32_t mine = memory + ((lane.team * Shape::kTokens + within % 4 * 2) * stride + row) * 4;
#pragma unroll
  for (int i = 0; i < Shape::kSums; ++i) {
    ptx::storeShared(mine + ((i / 4 * 8 + i % 2) * stride + i / 2 % 2 * 8) * 4, sums[i]);
  }
}

__device__ __forceinline__ void storeNarrowSum(const NarrowCodesArguments& a, int row, int column, float sum) {
  if (a.bias.data) sum += loadFloat(a.bias.data, a.bias.dtype, column);
  storeFloat(a.out.data, a.out.dtype, row * a.out.stride + column, sum);
}

/** This block's part of the outputs of a pass: the sums of all teams, of two blocks where kShared, in order. */
template <typename Shape, bool kShared>
__device__ __forceinline__ void storeNarrow(const NarrowCodesArguments& a, const NarrowCodesShare<Shape>& share,
                                            const NarrowCodesPass& pass, uint32_t memory) {
  int rows = a.rowTiles * kTileRows, shift = 31 - __clz(rows), teams = Shape::kGroups / a.rowTiles;
  int all = pass.rows * rows, teamBytes = Shape::kTokens * (rows + 4) * 4;
  int first = static_cast<int>(threadIdx.x) + share.rank * Shape::kConsumers;
  for (int i = first; i < all; i += share.ranks * Shape::kConsumers) {
    int token = i >> shift, row = i & (rows - 1), column = pass.column + row;
    if (column >= a.out.columns) continue;
    uint32_t from = memory + (token * (rows + 4) + row) * 4;
    float sum = 0;
    for (int rank = 0; rank < share.ranks; ++rank) {
      for (int team = 0; team < teams; ++team) {
        if constexpr (kShared) sum += ptx::loadRemote(from + team * teamBytes, rank);
        else sum += ptx::loadShared(from + team * teamBytes);
      }
    }
    storeNarrowSum(a, pass.row + token, column, sum);
  }
}

/** Where one warp has all of an output's sum. */
template <typename Shape>
__device__ __forceinline__ void storeNarrowWhole(const float (&sums)[Shape::kSums], const NarrowCodesArguments& a,
                                                 const NarrowCodesLane<Shape>& lane, const NarrowCodesPass& pass) {
  int within = threadIdx.x % 32, first = lane.rowTile * kTileRows + threadIdx.x / 32 % 4 * kStripRows + within / 4;
#pragma unroll
  for (int i = 0; i < Shape::kSums; ++i) {
    int token = i / 4 * 8 + within % 4 * 2 + i % 2, column = pass.column + first + i / 2 % 2 * 8;
    if (token < pass.rows && column < a.out.columns) storeNarrowSum(a, pass.row + token, column, sums[i]);
  }
}

/** Tells all blocks of the cluster that this block's consumers have come here; kReleases: and what they wrote. */
template <typename Shape, bool kReleases>
__device__ __forceinline__ void tellCluster(uint32_t barrier, const NarrowCodesShare<Shape>& share) {
  ptx::meet(1, Shape::kConsumers);
  int thread = static_cast<int>(threadIdx.x);
  if (thread >= share.ranks) return;
  uint32_t there = ptx::addressIn(barrier, thread);
  if constexpr (kReleases) ptx::arriveRemote(there);
  else ptx::arriveRemoteUnordered(there);
}

/** Adds the sums of a pass where several teams, or blocks, have parts of them, and stores them. */
template <typename Shape>
__device__ __forceinline__ void addNarrow(const float (&sums)[Shape::kSums], const NarrowCodesArguments& a,
                                          const NarrowCodesShare<Shape>& share, const NarrowCodesLane<Shape>& lane,
                                          int unit, uint32_t parity, const NarrowCodesShared<Shape>& shared) {
  if (share.ranks == 1) {
    placeNarrow<Shape>(sums, a, lane, shared.sums);
    ptx::meet(1, Shape::kConsumers);
    storeNarrow<Shape, false>(a, share, share.pass(unit), shared.sums);
    ptx::meet(1, Shape::kConsumers);
    return;
  }
  if (unit != share.first) ptx::waitRemote(shared.taken, parity ^ 1);
  else ptx::awaitCluster();  // barriers of the other one are initialised
  placeNarrow<Shape>(sums, a, lane, shared.sums);
  tellCluster<Shape, true>(shared.placed, share);
  ptx::waitRemote(shared.placed, parity);
  storeNarrow<Shape, true>(a, share, share.pass(unit), shared.sums);
  tellCluster<Shape, false>(shared.taken, share);
}

}  // namespace octavo::cuda
