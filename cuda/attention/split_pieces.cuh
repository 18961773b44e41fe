// Where blocks leave what they have of an item that is not theirs alone, and how the last of them brings it together.
// Finisher by finisher: the i-th of every block writes, counts and folds the i-th share of the dims, and waits for no
// other.
#pragma once

#include "cuda/attention/split_share.cuh"
#include "cuda/ptx/atomics.cuh"

namespace octavo::cuda::split {

/** Lanes that hold query rows. */
__host__ __device__ constexpr int lanesFor(int rows) { return rows >= 8 ? 32 : (rows + 1) / 2 * 8; }

template <DType kType, typename Shape, int kDim, int kTiles, bool kFew>
struct Pieces {
  using Part = Share<Shape, kDim>;
  static constexpr int kFinishers = Shape::kFinishers;
  const Arguments& a;
  int lanes, mine;
  bool holds;  // whether this lane has query rows

  __device__ __forceinline__ explicit Pieces(const Arguments& a) : a(a), lanes(lanesFor(a.rows)) {
    const int lane = static_cast<int>(threadIdx.x % 32), columns = lanes / 8, column = lane % 4;
    holds = column < columns;
    mine = Part::finisher() * kTiles * Part::kVectors * lanes + lane / 4 * columns + min(column, columns - 1);
  }

  __device__ __forceinline__ void put(const Part& part, int slot, int tile) const {
    if (!holds) return;
    float4* to = at(slot, tile);
    to[0] = make_float4(part.maximum[0], part.maximum[1], part.sum[0], part.sum[1]);
#pragma unroll
    for (int i = 0; i < Part::kMine; ++i) to[(1 + i) * lanes] = part.values[i];
  }
  __device__ __forceinline__ void get(Part& part, int slot, int tile) const {
    const float4* from = at(slot, tile);
    const float4 head = __ldcg(from);
    part.maximum[0] = head.x;
    part.maximum[1] = head.y;
    part.sum[0] = head.z;
    part.sum[1] = head.w;
#pragma unroll
    for (int i = 0; i < Part::kMine; ++i) part.values[i] = __ldcg(from + (1 + i) * lanes);
  }

  /**
   * Counts a unit in whose state was put. Whoever completes a group folds it, and whoever thereby completes the item
   * writes its rows.
   */
  __device__ __forceinline__ void bring(const Unit& unit) const {
    const bool areQuads = unit.pieces != unit.chunks;
    const int most = areQuads ? kGroup / kQuad : kGroup, first = unit.index / most * most;
    const int slot = unit.slot + first * unit.step, count = min(most, unit.pieces - first);
    if (!arriveLast(a.groupArrivals + slot * kFinishers, count)) return;
    const int groups = ceilDivide(unit.pieces, most);
#pragma unroll 1
    for (int tile = 0; tile < kTiles; ++tile) {
      const Part group = foldGroup(slot, unit.step, count, areQuads, tile);
      if (groups == 1) group.template write<kType, kFew>(a, unit, tile);
      else put(group, slot, tile);
    }
    if (groups == 1 || !arriveLast(a.arrivals + unit.counter * kFinishers, groups)) return;
#pragma unroll 1
    for (int tile = 0; tile < kTiles; ++tile) {
      foldItem(unit.slot, unit.step * most, groups, tile).template write<kType, kFew>(a, unit, tile);
    }
  }

 private:
  static constexpr int kBatch = Part::kVectors <= 5 ? 4 : 2;

  __device__ __forceinline__ float4* at(int slot, int tile) const {
    return a.pieces + static_cast<int64_t>(slot) * (kFinishers * kTiles * Part::kVectors * lanes) +
           tile * Part::kVectors * lanes + mine;
  }

  /** Counts in what the warp has put; true for the last of `count`, who leaves the counter as it was before. */
  __device__ __forceinline__ bool arriveLast(int* counters, int count) const {
    int before = 0;
    __syncwarp();
    if (threadIdx.x % 32 == 0) {
      int* counter = counters + Part::finisher();
      before = ptx::countOrdered(counter);
      if (before + 1 == count) *counter = 0;
    }
    before = __shfl_sync(0xffffffffu, before, 0);
    __syncwarp();  // what the first lane acquired is there for all of them
    return before + 1 == count;
  }

  /** Pieces that are fetched at once, so that memory answers once for all of them. */
  __device__ __forceinline__ void getBatch(Part (&batch)[kBatch], int slot, int step, int left, int tile) const {
#pragma unroll
    for (int i = 0; i < kBatch; ++i) get(batch[i], slot + min(i, left - 1) * step, tile);
  }
  /** areQuads: each piece is one, else a chunk. */
  __device__ __forceinline__ Part foldGroup(int slot, int step, int count, bool areQuads, int tile) const {
    Part group, quad;
#pragma unroll 1
    for (int from = 0; from < count; from += kBatch) {
      Part batch[kBatch];
      getBatch(batch, slot + from * step, step, count - from, tile);
#pragma unroll
      for (int i = 0; i < kBatch; ++i) {
        const int at = from + i;
        if (at >= count) break;
        if (areQuads || at % kQuad == 0) quad = batch[i];
        else quad.fold(batch[i]);
        if (!areQuads && at % kQuad != kQuad - 1 && at + 1 < count) continue;
        if (at < (areQuads ? 1 : kQuad)) group = quad;
        else group.fold(quad);
      }
    }
    return group;
  }
  /** Of groups. */
  __device__ __forceinline__ Part foldItem(int slot, int step, int count, int tile) const {
    Part item;
#pragma unroll 1
    for (int from = 0; from < count; from += kBatch) {
      Part batch[kBatch];
      getBatch(batch, slot + from * step, step, count - from, tile);
#pragma unroll
      for (int i = 0; i < kBatch; ++i) {
        if (from + i >= count) break;
        if (from + i == 0) item = batch[i];
        else item.fold(batch[i]);
      }
    }
    return item;
  }
};

}  // namespace octavo::cuda::split
