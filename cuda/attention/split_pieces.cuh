// Where blocks leave what they have of an item that is not theirs alone, and how the last of them brings it together.
// Finisher by finisher: the i-th of every block writes, counts and folds the i-th share of the dims, and waits for no
// other.
//
// What a block leaves of a unit is not announced: a word of a piece that is 0 has not come yet, and whoever folds it
// asks until it has, and leaves zeros. To announce it takes a fence, and a fence waits for all that its multiprocessor
// has under way, slices too: 5 µs a unit on an H200 (2026-12-01), longer than it takes to read a chunk. The counter of
// a group only tells who folds it. Groups, of which there are few, lie where pieces were: they are announced.
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
    storePresent(to, make_float4(part.maximum[0], part.maximum[1], part.sum[0], part.sum[1]));
#pragma unroll
    for (int i = 0; i < Part::kMine; ++i) storePresent(to + (1 + i) * lanes, part.values[i]);
  }
  /**
   * The first `count` of pieces that lie `step` slots apart, as soon as all of them have come; nothing is left of these.
   * They are asked for at once, so that memory answers once for all.
   */
  template <int kMost>
  __device__ __forceinline__ void take(Part (&parts)[kMost], int slot, int step, int count, int tile) const {
    bool come;
    do {
      come = true;
#pragma unroll
      for (int i = 0; i < kMost; ++i) get(parts[i], slot + min(i, count - 1) * step, tile);
#pragma unroll
      for (int i = 0; i < kMost; ++i) come &= isPresent(parts[i]);
    } while (!__all_sync(0xffffffffu, come));
    if (!holds) return;
#pragma unroll
    for (int i = 0; i < kMost; ++i) {
      if (i < count) clear(at(slot + i * step, tile));
    }
  }

  /**
   * Counts a unit in whose state was put. Whoever completes a group folds it, and whoever thereby completes the item
   * writes its rows.
   */
  __device__ __forceinline__ void bring(const Unit& unit) const {
    const bool areQuads = unit.pieces != unit.chunks;
    const int most = areQuads ? kGroup / kQuad : kGroup, first = unit.index / most * most;
    const int slot = unit.slot + first * unit.step, count = min(most, unit.pieces - first);
    if (!arriveLast<false>(a.groupArrivals + slot * kFinishers, count)) return;
    const int groups = ceilDivide(unit.pieces, most);
#pragma unroll 1
    for (int tile = 0; tile < kTiles; ++tile) {
      const Part group = foldGroup(slot, unit.step, count, areQuads, tile);
      if (groups == 1) group.template write<kType, kFew>(a, unit, tile);
      else put(group, slot, tile);
    }
    if (groups == 1 || !arriveLast<true>(a.arrivals + unit.counter * kFinishers, groups)) return;
#pragma unroll 1
    for (int tile = 0; tile < kTiles; ++tile) {
      foldItem(unit.slot, unit.step * most, groups, tile).template write<kType, kFew>(a, unit, tile);
    }
  }

 private:
  static constexpr int kBatch = Part::kVectors <= 5 && kTiles < 4 ? 4 : 2;

  __device__ __forceinline__ float4* at(int slot, int tile) const {
    return a.pieces + static_cast<int64_t>(slot) * (kFinishers * kTiles * Part::kVectors * lanes) +
           tile * Part::kVectors * lanes + mine;
  }

  /**
   * Counts in what the warp has put, and announces it if kAnnounces; true for the last of `count`, who leaves the counter
   * as it was before.
   */
  template <bool kAnnounces>
  __device__ __forceinline__ bool arriveLast(int* counters, int count) const {
    int before = 0;
    __syncwarp();
    if (threadIdx.x % 32 == 0) {
      int* counter = counters + Part::finisher();
      before = kAnnounces ? ptx::countOrdered(counter) : ptx::countUnordered(counter);
      if (before + 1 == count) *counter = 0;
    }
    before = __shfl_sync(0xffffffffu, before, 0);
    __syncwarp();  // what the first lane acquired is there for all of them
    return before + 1 == count;
  }

  __device__ __forceinline__ void get(Part& part, int slot, int tile) const {
    const float4* from = at(slot, tile);
    const float4 head = ptx::loadUnordered(from);
    part.maximum[0] = head.x;
    part.maximum[1] = head.y;
    part.sum[0] = head.z;
    part.sum[1] = head.w;
#pragma unroll
    for (int i = 0; i < Part::kMine; ++i) part.values[i] = ptx::loadUnordered(from + (1 + i) * lanes);
  }
  __device__ __forceinline__ void clear(float4* to) const {
#pragma unroll
    for (int i = 0; i < Part::kVectors; ++i) ptx::storeUnordered(to + i * lanes, make_float4(0, 0, 0, 0));
  }

  /** +0 as −0. */
  static __device__ __forceinline__ float present(float value) { return value == 0 ? -0.0f : value; }
  static __device__ __forceinline__ void storePresent(float4* to, const float4& v) {
    ptx::storeUnordered(to, make_float4(present(v.x), present(v.y), present(v.z), present(v.w)));
  }
  static __device__ __forceinline__ bool isPresent(const Part& part) {
    uint32_t least = 0xffffffffu;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      least = min(least, min(__float_as_uint(part.maximum[r]), __float_as_uint(part.sum[r])));
    }
#pragma unroll
    for (const float4& v : part.values) {
      least = min(least, min(min(__float_as_uint(v.x), __float_as_uint(v.y)), __float_as_uint(v.z)));
      least = min(least, __float_as_uint(v.w));
    }
    return least != 0;
  }

  /** areQuads: each piece is one, else a chunk. */
  __device__ __forceinline__ Part foldGroup(int slot, int step, int count, bool areQuads, int tile) const {
    Part group, quad;
#pragma unroll 1
    for (int from = 0; from < count; from += kBatch) {
      Part batch[kBatch];
      take(batch, slot + from * step, step, count - from, tile);
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
      take(batch, slot + from * step, step, count - from, tile);
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
