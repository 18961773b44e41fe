// The warps that add slices, and those that finish what they have made.
#pragma once

#include <type_traits>

#include "cuda/attention/split_pieces.cuh"
#include "cuda/attention/split_ring.cuh"

namespace octavo::cuda::split {

/** Where states go from who makes them to who finishes them. */
template <typename Shape>
__device__ __forceinline__ float4* stateAt(uint8_t* shared, int state, int warp, int half) {
  constexpr int kHalfBytes = Shape::kStateBytes / Shape::kHalves;
  uint8_t* const at = shared + Shape::kStatesAt + ((state * Shape::kWarps + warp) * Shape::kHalves + half) * kHalfBytes;
  return reinterpret_cast<float4*>(at) + threadIdx.x % 32;
}

/** A warp that adds every kWarps-th slice of a chunk. */
template <DType kType, int kDim, int kTiles, typename Source, bool kFew>
struct Adder {
  using Shape = typename Source::Shape;
  static constexpr int kMine = Shape::kWarpTiles;
  static constexpr bool kHoldsQuery = kDim <= 128 && (kMine == 1 || !Shape::kCoded);
  using Query = std::conditional_t<kHoldsQuery, RegisterQuery<kDim, kMine>, SharedQuery<kDim, kMine>>;
  /** Slices that are added at once: two where registers suffice, for then neither waits for its own products. */
  static constexpr bool kAddsPairs = Shape::kHalves == 1 && Shape::kStages >= 4;
  static constexpr int kStep = kAddsPairs && !(Shape::kCoded && (kDim == 256 || kMine == 2)) ? 2 : 1;
  uint8_t* shared;
  Scoring scoring;
  bool hasScales;  // in the cache, of codes
  RowFactors<kMine> factors;
  int warp = threadIdx.x / 32 % Shape::kWarps, half = threadIdx.x / 32 / Shape::kWarps;
  uint32_t ring = ptx::sharedAddress(shared) + warp * Shape::kSliceBytes;
  Barriers<Shape> barriers{ptx::sharedAddress(shared)};
  Turn<Shape::kStages> stage;
  Turn<Shape::kStates> state;

  __device__ __forceinline__ void run() {
    UnitReader<Shape> units(shared);
#pragma unroll 1
    for (;;) {
      const Unit& unit = units.next().unit;
      if (unit.chunks == 0) return;
      Query query;
      const uint32_t rows = units.query() + half * (kMine * 8 * SharedQuery<kDim, kMine>::kRowBytes);
      query.load(rows);
      if constexpr (Shape::kCoded) factors.template load<kDim>(rows);
      const int chunkSlices = unit.chunk, endSlice = unit.endSlice(), firstKey = unit.firstKey;
      const Visible keys{unit.first - firstKey, unit.end - firstKey};
      const RowTokens<kFew> tokens{unit.tokens, unit.share, half * kMine * 8};
#pragma unroll 1
      for (int first = unit.firstChunk * chunkSlices; first < endSlice; first += chunkSlices) {
        State<kDim, kMine> sum;
        addChunk(sum, query, keys, first, min(first + chunkSlices, endSlice), tokens);
        ptx::waitBarrier(barriers.stateFree(state.at), state.parity ^ 1);
        sum.store(stateAt<Shape>(shared, state.at, warp, half));
        arriveAsWarp(barriers.stateFull(state.at));
        state.advance();
      }
      units.done();
    }
  }

 private:
  /** `keys`: of the item's first slice. */
  __device__ __forceinline__ void addChunk(State<kDim, kMine>& sum, const Query& query, const Visible& keys, int first,
                                           int end, const RowTokens<kFew>& tokens) {
    constexpr int kWarps = Shape::kWarps;
    sum.clear();
#pragma unroll 1
    for (int slice = first + warp; slice - warp < end; slice += kWarps) {
      if (kStep == 2 && slice + kWarps < end) {
        add<2>(sum, query, keys, slice, tokens);
        slice += kWarps;
      } else if (slice < end) {
        add<1>(sum, query, keys, slice, tokens);
      } else {
        skip();
      }
    }
    sum.closeSum();
  }

  /** The stage has no slice for this warp. */
  __device__ __forceinline__ void skip() {
    ptx::waitBarrier(barriers.full(stage.at), stage.parity);
    arriveAsWarp(barriers.empty(stage.at));
    stage.advance();
  }

  template <int kSlices>
  __device__ __forceinline__ void add(State<kDim, kMine>& sum, const Query& query, const Visible& keys, int slice,
                                      const RowTokens<kFew>& tokens) {
    Visible visible[kSlices];
    uint32_t from[kSlices], empty[kSlices];
#pragma unroll
    for (int i = 0; i < kSlices; ++i) {
      const int before = (slice + i * Shape::kWarps) * kSliceKeys;
      visible[i] = {keys.first - before, keys.end - before};
      from[i] = ring + stage.at * Shape::kStageBytes;
      empty[i] = barriers.empty(stage.at);
      ptx::waitBarrier(barriers.full(stage.at), stage.parity);
      if (!visible[i].all()) Source::clear(from[i], visible[i]);
      stage.advance();
    }
    if constexpr (Shape::kCoded) {
      KeyScales scales[kSlices];
#pragma unroll
      for (int i = 0; i < kSlices; ++i) {
        const uint32_t at = from[i] + Shape::kScalesAt - warp * (Shape::kSliceBytes - Shape::kSliceScaleBytes);
        if (hasScales) scales[i].template load<Source::kHasKeyScales>(at, visible[i]);
      }
      addCodes<Source::kCode, kDim, kMine>(sum, query, factors, from, scales, scoring, visible, tokens);
    } else {
      addSlices<kType, kDim, kMine, kSlices, typename Shape::Rows>(sum, query, from, scoring, visible, tokens);
    }
#pragma unroll
    for (int i = 0; i < kSlices; ++i) arriveAsWarp(empty[i]);
  }
};

/** A warp that brings its dims of the states together, of chunks, quads and items. */
template <DType kType, int kDim, int kTiles, typename Source, bool kFew>
struct Finisher {
  using Shape = typename Source::Shape;
  using Part = Share<Shape, kDim>;
  /** Tiles at once: of four there are no registers for all, and what is not in use lies in local memory. */
  static constexpr int kUnroll = kTiles == 4 ? 1 : kTiles;
  const Arguments& a;
  uint8_t* shared;
  const Pieces<kType, Shape, kDim, kTiles, kFew> pieces{a};
  UnitReader<Shape> units{shared};
  Turn<Shape::kStates> state;

  __device__ __forceinline__ void run() {
#pragma unroll 1
    for (;;) {
      const Unit unit = units.next().unit;
      if (unit.chunks == 0) return;
      Part quad[kTiles];
#pragma unroll 1
      for (int chunk = unit.firstChunk; chunk < unit.endChunk; ++chunk) {
        collect(quad, chunk == unit.firstChunk || chunk % kQuad == 0);
        if (unit.endsWith(chunk)) finish(unit, quad, chunk);
      }
      units.done();
    }
  }

 private:
  __device__ __forceinline__ void collect(Part (&quad)[kTiles], bool isFirst) {
    const float4* const states = stateAt<Shape>(shared, state.at, 0, 0);
    ptx::waitBarrier(units.barriers.stateFull(state.at), state.parity);
#pragma unroll kUnroll
    for (int tile = 0; tile < kTiles; ++tile) {
      Part part;
      part.template collect<kTiles>(states, tile);
      if (isFirst) quad[tile] = part;
      else quad[tile].fold(part);
    }
    arriveAsWarp(units.barriers.stateFree(state.at));
    state.advance();
  }

  /** A quad is complete, or a unit of a single chunk; the last chunk in it is `chunk`. */
  __device__ __forceinline__ void finish(const Unit& unit, Part (&quad)[kTiles], int chunk) const {
    const bool isShared = !unit.isWhole && unit.pieces > 1;
#pragma unroll kUnroll
    for (int tile = 0; tile < kTiles; ++tile) {
      if (isShared) pieces.put(quad[tile], unit.number, tile);
      else if (unit.isWhole && !keep(quad[tile], unit, chunk, tile)) continue;
      else quad[tile].template write<kType, kFew>(a, unit, tile);
    }
    if (isShared) pieces.bring(unit);
  }

  /** Of a unit that is a whole item: group and item are kept in the block's own pieces. True: it is complete. */
  __device__ __forceinline__ bool keep(Part& part, const Unit& unit, int chunk, int tile) const {
    const int own = a.capacity + 2 * static_cast<int>(blockIdx.x);
    const bool isLast = chunk + 1 == unit.chunks;
    if (chunk % kGroup >= kQuad) foldKept(part, own, tile);
    if (!isLast && chunk % kGroup != kGroup - 1) {
      pieces.put(part, own, tile);
      return false;
    }
    if (chunk >= kGroup) foldKept(part, own + 1, tile);
    if (!isLast) pieces.put(part, own + 1, tile);
    return isLast;
  }
  __device__ __forceinline__ void foldKept(Part& part, int slot, int tile) const {
    Part kept[1];
    pieces.take(kept, slot, 0, 1, tile);
    kept[0].fold(part);
    part = kept[0];
  }
};

}  // namespace octavo::cuda::split
