// The arguments of a row product, and where in a block's shared memory everything lies.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include "cuda/ptx/mbarrier.cuh"
#include "ops/fused_linear.h"

namespace octavo::cuda::rows {

constexpr int kWarps = 8;                           // that multiply; one more brings the weight
constexpr int kWorkers = kWarps * 32, kThreads = kWorkers + 32;
constexpr int kSlotBytes = 8192;                    // of weight: what the copy engine is asked for at once
constexpr int kStepBytes = 64;                      // of a row of x that a warp multiplies with its share of a slot
constexpr int kLanePieceBytes = 16;                 // a lane's share of that
constexpr int kTile = 16;                           // rows of the weight that are multiplied at a time
constexpr int kMostSlots = 24;

constexpr int kPartialBytes = 2 * kWorkers * static_cast<int>(sizeof(float4));
constexpr int kAlignment = 1024;                    // of swizzled boxes

/** Of a launch: all in bytes from the aligned beginning. */
struct Layout {
  int slots = 0;
  int input = 0;     // x, as lanes read it: [step][row][4 lanes][16 bytes]
  int partials = 0;  // [2][warp][lane] of float4
  int sums = 0;      // [row][warp] of float
  int barriers = 0;  // [slot] of full, then of empty
  int bytes = 0;     // all, and what aligning takes

  static constexpr Layout of(int slots, int64_t inputBytes) {
    Layout layout;
    layout.slots = slots;
    layout.input = slots * kSlotBytes;
    layout.partials = layout.input + static_cast<int>(inputBytes);
    layout.sums = layout.partials + kPartialBytes;
    layout.barriers = layout.sums + static_cast<int>(kMostFusedRows) * kWarps * static_cast<int>(sizeof(float));
    layout.bytes = layout.barriers + 2 * 8 * slots + kAlignment;
    return layout;
  }
};

struct Arguments {
  CUtensorMap map;     // of the weight
  Matrix out, x;
  Vector norm, bias;
  float epsilon;
  ProductEnd end;
  DType productType;   // that a product is rounded to before it is added or gated
  int32_t outputs;     // columns of out that a tile makes: 16, or 8 where gate and up lie in it together
  int32_t tiles;
  int32_t pieces;      // slots of a tile
  Layout layout;
};

/** The ring: a full and an empty barrier a slot. Each role keeps a cursor of its own, which never resets. */
struct Cursor {
  uint32_t ring, barriers;  // shared addresses
  int slots, slot = 0;
  uint32_t phase = 0;

  __device__ __forceinline__ Cursor(uint32_t base, const Layout& layout)
      : ring(base), barriers(base + static_cast<uint32_t>(layout.barriers)), slots(layout.slots) {}

  __device__ __forceinline__ uint32_t address() const { return ring + static_cast<uint32_t>(slot * kSlotBytes); }
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
