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
constexpr int kFewestSlots = 4;

inline int slotsIn(int bytes, const Places& places) {
  const int64_t left = bytes - places.fixedBytes();
  const int64_t slots = std::clamp<int64_t>(left / (places.slotBytes + 16), 0, kMostSlots);
  return static_cast<int>(slots / kTeams * kTeams);
}

/**
 * All of a multiprocessor's memory. With half of it, so that the next kernel's ring fills beside this one, products alone
 * took 3 % less; but where a kernel that fills multiprocessors ends, here before there, two blocks of the next went where
 * it ended first and none where it ended last: with attention between products a layer took 170 µs for 115.
 */
inline Layout layoutFor(const Places& places) { return Layout::of(slotsIn(kBlockBytes, places), places); }

inline bool fits(const Places& places) { return slotsIn(kBlockBytes, places) >= kFewestSlots; }

inline int32_t tilesOf(const FusedLinear& fused, int outputs) {
  return static_cast<int32_t>(ceilDivide(fused.out.columns, outputs));
}

/** All but the maps and what is the weight's own. */
inline Arguments argumentsOf(const FusedLinear& fused, const Vector& bias, int outputs, int64_t pieces,
                             const Places& places) {
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
  a.layout = layoutFor(places);
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
