// How a row product is cut to a card.
#pragma once

#include <algorithm>

#include "cuda/device/alignment.h"
#include "cuda/device/cuda_check.h"
#include "cuda/device/overlapped_launch.h"
#include "cuda/device/shared_memory.h"
#include "cuda/fused/row_kernel.cuh"

namespace octavo::cuda::rows {

constexpr int kBlockBytes = 227 * 1024;                 // of shared memory, at most, a block
constexpr int kHalfBytes = (228 * 1024 - 2048) / 2;     // where two are to share a multiprocessor
constexpr int kFewestSlots = 4, kEnoughSlots = 5;

/** What lanes read of x: all slots of a tile. */
inline int64_t inputBytes(int64_t rows, int64_t pieces) { return pieces * kWarps * rows * kStepBytes; }

inline int slotsIn(int bytes, int64_t inputBytes) {
  const int64_t left = bytes - inputBytes - Layout::of(0, 0).bytes;
  return static_cast<int>(std::clamp<int64_t>(left / (kSlotBytes + 16), 0, kMostSlots));
}

/** Half of a multiprocessor's memory, for the next kernel of the chain has the other; all of it where x is large. */
inline Layout layoutFor(int64_t inputBytes) {
  const int half = slotsIn(kHalfBytes, inputBytes);
  return Layout::of(half >= kEnoughSlots ? half : slotsIn(kBlockBytes, inputBytes), inputBytes);
}

inline bool fits(int64_t rows, int64_t pieces) {
  return slotsIn(kBlockBytes, inputBytes(rows, pieces)) >= kFewestSlots;
}

/** All but the map and what is the weight's own. `columnsOfSlot`: of the weight, that a slot holds of each row. */
inline Arguments argumentsOf(const FusedLinear& fused, const Vector& bias, int64_t columnsOfSlot) {
  Arguments a{};
  a.out = fused.out;
  a.x = fused.x;
  a.norm = fused.norm;
  a.bias = bias;
  a.epsilon = fused.epsilon;
  a.end = fused.end;
  a.productType = fused.product.dtype;
  a.outputs = fused.end == ProductEnd::kSwiglu ? kTile / 2 : kTile;
  a.tiles = static_cast<int32_t>(ceilDivide(fused.out.columns, a.outputs));
  a.pieces = static_cast<int32_t>(ceilDivide(fused.x.columns, columnsOfSlot));
  a.layout = layoutFor(inputBytes(fused.x.rows, a.pieces));
  return a;
}

template <typename Weights>
void launch(const Arguments& a, const DeviceTraits& traits, cudaStream_t stream) {
  constexpr auto kKernel = rowProductKernel<Weights>;
  allowSharedMemory<kKernel>(kBlockBytes);
  const auto blocks = static_cast<unsigned>(std::min(a.tiles, traits.multiprocessors));
  launchOverlapped("rowProduct", kKernel, {dim3(blocks), dim3(kThreads), static_cast<size_t>(a.layout.bytes), stream}, a);
}

}  // namespace octavo::cuda::rows
