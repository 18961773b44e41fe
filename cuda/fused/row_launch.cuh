// How a row product is cut to a card.
#pragma once

#include <algorithm>

#include "cuda/device/alignment.h"
#include "cuda/device/cuda_check.h"
#include "cuda/device/early_launch.h"
#include "cuda/device/shared_memory.h"
#include "cuda/fused/fused.h"
#include "cuda/fused/row_kernel.cuh"

namespace octavo::cuda::rows {

constexpr int kBlockBytes = 227 * 1024;  // of shared memory, at most, a block
// Where two kernels of the chain share a multiprocessor, 228 KB and one a block of the system's own.
constexpr int kLargerBytes = 127 * 1024, kSmallerBytes = 99 * 1024;
constexpr int kFewestSlots = 4, kEnoughSlots = 5;
constexpr int64_t kMostSharingRows = 2;  // of more rows the larger x of a layer leaves no room beside it

inline int slotsIn(int bytes, const Places& places) {
  const int64_t left = bytes - places.fixedBytes();
  return static_cast<int>(std::clamp<int64_t>(left / (places.slotBytes + 16), 0, kMostSlots));
}

/**
 * A multiprocessor has room for a block of this kernel and one of the next in the chain, but never for two of one kernel:
 * where a kernel that fills multiprocessors ends, here before there, two blocks of the next would go where it ended first
 * and none where it ended last (measured: 56 µs a layer of 170). So products without a norm, which every other one of a
 * layer is, take more than half. Where x is large a block takes all.
 */
inline Layout layoutFor(const Places& places, bool isNormed, int sharing) {
  const bool shares = sharing > 1 && places.rows <= kMostSharingRows;
  const int part = shares ? slotsIn(isNormed ? kSmallerBytes : kLargerBytes, places) : 0;
  if (part < kEnoughSlots) return Layout::of(slotsIn(kBlockBytes, places), places);
  return Layout::of(part, places);
}

inline bool fits(const Places& places) { return slotsIn(kBlockBytes, places) >= kFewestSlots; }

inline int32_t tilesOf(const FusedLinear& fused, int outputs) {
  return static_cast<int32_t>(ceilDivide(fused.out.columns, outputs));
}

/** All but the maps and what is the weight's own. */
inline Arguments argumentsOf(const FusedLinear& fused, const Vector& bias, int outputs, int64_t pieces,
                             const Places& places, int sharing) {
  Arguments a{};
  a.out = fused.out;
  a.x = fused.x;
  a.norm = fused.norm;
  a.bias = bias;
  a.epsilon = fused.epsilon;
  a.end = fused.end;
  a.productType = fused.product.dtype;
  a.outputs = outputs;
  a.tiles = tilesOf(fused, outputs);
  a.pieces = static_cast<int32_t>(pieces);
  a.steps = static_cast<int32_t>(places.steps);
  a.expected = kSlotBytes;
  a.layout = layoutFor(places, fused.norm.data != nullptr, sharing);
  return a;
}

/** Rows of 16 bits on 16-byte boundaries, no more than a launch takes, and a norm of 16 bits. */
inline bool hasFewRows(const FusedLinear& fused) {
  constexpr int64_t kMost = int64_t{1} << 31;
  const Matrix& x = fused.x;
  const bool isNormed = fused.norm.data != nullptr;
  return dtypeBytes(x.dtype) == 2 && isChunked(x) && x.rows > 0 && x.rows <= kMostFusedRows && x.columns < kMost &&
         fused.out.columns > 0 && fused.out.columns < kMost / 2 &&
         (!isNormed || (dtypeBytes(fused.norm.dtype) == 2 && isChunked(fused.norm)));
}

/** Rows of a tile's box: gate and up share one. */
inline int slabOutputs(const FusedLinear& fused) { return fused.end == ProductEnd::kSwiglu ? kTile / 2 : kTile; }

template <typename Weights>
void launch(const Arguments& a, const DeviceTraits& traits, cudaStream_t stream) {
  constexpr auto kKernel = rowProductKernel<Weights>;
  allowSharedMemory<kKernel>(kBlockBytes);
  preferSharedMemory<kKernel>();
  const auto blocks = static_cast<unsigned>(std::min(a.tiles, traits.multiprocessors));
  launchEarly(kKernel, {dim3(blocks), dim3(kThreads), a.layout.bytes, stream}, "rowProduct", a);
}

}  // namespace octavo::cuda::rows
