// The arguments of a row product, and where in a block's shared memory everything lies.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include "cuda/ptx/mbarrier.cuh"
#include "ops/fused_linear.h"
#include "ops/quantized_matrix.h"

namespace octavo::cuda::rows {

constexpr int kWarps = 8;                           // that multiply; one more brings the weight
constexpr int kWorkers = kWarps * 32, kThreads = kWorkers + 32;
constexpr int kSlotBytes = 8192;                    // of numbers or codes: what the copy engine is asked for at once
constexpr int kStepBytes = 64;                      // of a row of x that a warp multiplies with its share of a slot
constexpr int kLanePieceBytes = 16;                 // a lane's share of that
constexpr int kTile = 16;                           // rows of the weight that are multiplied at a time
constexpr int kMostSlots = 24;

constexpr int kPartialBytes = 2 * kWorkers * static_cast<int>(sizeof(float4));  // of a set of sums
constexpr int kReductionBytes = 2 * static_cast<int>(kMostFusedRows) * kWarps * static_cast<int>(sizeof(float));
constexpr int kAlignment = 1024;                    // of swizzled boxes

/** What a launch asks of the layout. */
struct Places {
  int slotBytes = kSlotBytes;   // numbers or codes, then what belongs to them
  int sets = 1;                 // of sums that a warp leaves of a tile
  int64_t steps = 0, rows = 0;  // of x: steps of 64 bytes
  int64_t inputScales = 0;

  constexpr int64_t inputBytes() const { return steps * rows * kStepBytes; }
  /** What is not the ring. */
  constexpr int64_t fixedBytes() const {
    return inputBytes() + inputScales * static_cast<int64_t>(sizeof(float)) + sets * kPartialBytes + kReductionBytes +
           kAlignment;
  }
};

/** In bytes from the aligned beginning. */
struct Layout {
  int slots = 0, slotBytes = 0, sets = 0;
  int input = 0;     // x, as lanes read it: [step][row][4 lanes][16 bytes]
  int scales = 0;    // of x where it became codes: [group][row] of float
  int partials = 0;  // [2][set][warp][lane] of float4
  int sums = 0;      // [2][row][warp] of float
  int barriers = 0;  // [slot] of full, then of empty
  int bytes = 0;     // all, and what aligning takes

  static constexpr Layout of(int slots, const Places& places) {
    Layout layout;
    layout.slots = slots;
    layout.slotBytes = places.slotBytes;
    layout.sets = places.sets;
    layout.input = slots * places.slotBytes;
    layout.partials = layout.input + static_cast<int>(places.inputBytes());
    layout.sums = layout.partials + places.sets * kPartialBytes;
    layout.barriers = layout.sums + kReductionBytes;
    layout.scales = layout.barriers + 2 * 8 * slots;
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

/** The ring: a full and an empty barrier a slot. Each role keeps a cursor of its own, which never resets. */
struct Cursor {
  uint32_t ring, barriers;  // shared addresses
  int slots, slotBytes, slot = 0;
  uint32_t phase = 0;

  __device__ __forceinline__ Cursor(uint32_t base, const Layout& layout)
      : ring(base), barriers(base + static_cast<uint32_t>(layout.barriers)), slots(layout.slots),
        slotBytes(layout.slotBytes) {}

  __device__ __forceinline__ uint32_t address() const { return ring + static_cast<uint32_t>(slot * slotBytes); }
  __device__ __forceinline__ uint32_t full() const { return barriers + static_cast<uint32_t>(8 * slot); }
  __device__ __forceinline__ uint32_t empty() const { return barriers + static_cast<uint32_t>(8 * (slots + slot)); }
  __device__ __forceinline__ void advance() {
    if (++slot < slots) return;
    slot = 0;
    phase ^= 1;
  }
};

/** One thread, before the block meets. */
__device__ __forceinline__ void initRing(uint32_t base, const Layout& layout) {
  Cursor cursor(base, layout);
  for (; cursor.phase == 0; cursor.advance()) {
    ptx::initBarrier(cursor.full(), 1);
    ptx::initBarrier(cursor.empty(), kWarps);
  }
  ptx::fenceBarriers();
}

}  // namespace octavo::cuda::rows
