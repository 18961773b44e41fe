// The arguments of a row product, and where in a block's shared memory everything lies.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include "cuda/ptx/mbarrier.cuh"
#include "ops/fused_linear.h"
#include "ops/quantized_matrix.h"

namespace octavo::cuda::rows {

constexpr int kTeams = 2, kTeamWarps = 8;           // a team's warps share a slot; teams take turns
constexpr int kWarps = kTeams * kTeamWarps;         // that multiply; one more brings the weight, one finishes tiles
constexpr int kWorkers = kWarps * 32, kThreads = kWorkers + 2 * 32;
constexpr int kSlotBytes = 8192;                    // of numbers or codes: what the copy engine is asked for at once
constexpr int kStepBytes = 64;                      // of a row of x that a warp multiplies with its share of a slot
constexpr int kLanePieceBytes = 16;                 // a lane's share of that
constexpr int kTile = 16;                           // rows of the weight that are multiplied at a time
constexpr int kMostSlots = 24;

constexpr int kTurns = 2;                           // tiles whose sums there is room for
constexpr int kReductionBytes = 2 * static_cast<int>(kMostFusedRows) * kWarps * static_cast<int>(sizeof(float));
constexpr int kAlignment = 1024;                    // of swizzled boxes

/** What a launch asks of the layout. */
struct Places {
  int slotBytes = kSlotBytes;   // numbers or codes, then what belongs to them
  int sets = 1;                 // of sums that a warp leaves of a tile
  int64_t steps = 0, rows = 0;  // of x: steps of 64 bytes
  int64_t inputScales = 0;

  constexpr int64_t inputBytes() const { return steps * rows * kStepBytes; }
  /** Of two rows of x a warp has a vector of its products with each two of a tile's sixteen rows. */
  constexpr int64_t partialBytes() const {
    return int64_t{kTurns} * sets * kWarps * (kTile / 2) * ((rows + 1) / 2) * static_cast<int64_t>(sizeof(float4));
  }
  /** What is not the ring. */
  constexpr int64_t fixedBytes() const {
    return inputBytes() + inputScales * static_cast<int64_t>(sizeof(float)) + partialBytes() + kReductionBytes +
           2 * kTurns * 8 + kAlignment;
  }
};

/** In bytes from the aligned beginning. */
struct Layout {
  int slots = 0, slotBytes = 0, sets = 0;
  int input = 0;     // x, as lanes read it: [step][row][4 lanes][16 bytes]
  int scales = 0;    // of x where it became codes: [group][row] of float
  int partials = 0;  // [turn][set][warp][8 rows of a tile, and those 8 rows on][pair of rows of x] of float4
  int sums = 0;      // [2][row][warp] of float
  int barriers = 0;  // [slot] of full, then of empty; [turn] of full, then of free
  int bytes = 0;     // all, and what aligning takes

  static constexpr Layout of(int slots, const Places& places) {
    Layout layout;
    layout.slots = slots;
    layout.slotBytes = places.slotBytes;
    layout.sets = places.sets;
    layout.input = slots * places.slotBytes;
    layout.partials = layout.input + static_cast<int>(places.inputBytes());
    layout.sums = layout.partials + static_cast<int>(places.partialBytes());
    layout.barriers = layout.sums + kReductionBytes;
    layout.scales = layout.barriers + 2 * 8 * (slots + kTurns);
    layout.bytes = layout.scales + static_cast<int>(places.inputScales * static_cast<int64_t>(sizeof(float))) + kAlignment;
    return layout;
  }
};

struct Arguments {
  CUtensorMap map;     // of the weight
  CUtensorMap scaleMap, zeroMap;  // of tiles: what comes with a slot
  Matrix out, x;
  Vector norm, bias;
  float epsilon;
  ProductEnd end;
  DType productType;   // that a product is rounded to before it is added or gated
  int32_t outputs;     // columns of out that a tile makes: 8 where gate and up lie in one tile, else 16
  int32_t tiles;
  int32_t pieces;      // slots of a tile
  int32_t steps;       // of 64 bytes of a row of x in all slots of a tile
  int32_t expected;    // bytes that a slot is filled with
  Layout layout;
  // Of codes.
  const void* scales;
  DType scaleType;
  int32_t groups;      // of a row
  int32_t groupRows;
  int32_t groupShift;  // group = column >> this
  int32_t slotGroups;
  int32_t upRow;       // where up begins in tiles: rows of 16
  bool hasZeros, hasRowScales;
  ActivationQuantization activations;
};

/**
 * The ring: a full and an empty barrier a slot. Each role keeps a cursor of its own, which never resets. A team takes every
 * other slot of an even number: who waits for a slot has waited for its last filling, so that phases cannot be confused.
 */
struct Cursor {
  uint32_t ring, barriers;  // shared addresses
  int slots, slotBytes, slot, stride;
  uint32_t phase = 0;

  __device__ __forceinline__ Cursor(uint32_t base, const Layout& layout, int first = 0, int stride = 1)
      : ring(base), barriers(base + static_cast<uint32_t>(layout.barriers)), slots(layout.slots),
        slotBytes(layout.slotBytes), slot(first), stride(stride) {}

  __device__ __forceinline__ uint32_t address() const { return ring + static_cast<uint32_t>(slot * slotBytes); }
  __device__ __forceinline__ uint32_t full() const { return barriers + static_cast<uint32_t>(8 * slot); }
  __device__ __forceinline__ uint32_t empty() const { return barriers + static_cast<uint32_t>(8 * (slots + slot)); }
  __device__ __forceinline__ void advance() {
    slot += stride;
    if (slot < slots) return;
    slot -= slots;
    phase ^= 1;
  }
};

/** A tile's sums on their way from the warps that make them to the one that finishes tiles: `ordinal` in the block. */
struct Turn {
  uint32_t barriers, phase;
  int turn;

  __device__ __forceinline__ Turn(uint32_t base, const Layout& layout, int ordinal)
      : barriers(base + static_cast<uint32_t>(layout.barriers + 2 * 8 * layout.slots)),
        phase(static_cast<uint32_t>(ordinal / kTurns % 2)), turn(ordinal % kTurns) {}

  __device__ __forceinline__ uint32_t full() const { return barriers + static_cast<uint32_t>(8 * turn); }
  __device__ __forceinline__ uint32_t free() const { return barriers + static_cast<uint32_t>(8 * (kTurns + turn)); }
};

/** One thread, before the block meets. */
__device__ __forceinline__ void initRing(uint32_t base, const Layout& layout) {
  Cursor cursor(base, layout);
  for (; cursor.phase == 0; cursor.advance()) {
    ptx::initBarrier(cursor.full(), 1);
    ptx::initBarrier(cursor.empty(), kTeamWarps);
  }
  for (int turn = 0; turn < kTurns; ++turn) {
    const Turn tile(base, layout, turn);
    ptx::initBarrier(tile.full(), kWarps);
    ptx::initBarrier(tile.free(), 1);
  }
  ptx::fenceBarriers();
}

}  // namespace octavo::cuda::rows
