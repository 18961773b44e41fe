// cuda/ptx/tma.cuh, emulated.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "asynchronous/copies.h"
#include "cuda/ptx/shared_memory.cuh"

namespace octavo::cuda::ptx {

__device__ __forceinline__ void prefetchTensorMap(const CUtensorMap*) {}

__device__ __forceinline__ void loadTile(uint32_t to, const CUtensorMap* map, uint32_t barrier, int column, int row) {
  emulator::loadBox(to, map, barrier, {column, row});
}
__device__ __forceinline__ void loadTile(uint32_t to, const CUtensorMap* map, uint32_t barrier, int x, int y, int z,
                                         int w) {
  emulator::loadBox(to, map, barrier, {x, y, z, w});
}
__device__ __forceinline__ void loadTile(uint32_t to, const CUtensorMap* map, uint32_t barrier, int x, int y, int z,
                                         int w, int v) {
  emulator::loadBox(to, map, barrier, {x, y, z, w, v});
}

__device__ __forceinline__ uint64_t evictFirstPolicy() { return 1; }

__device__ __forceinline__ void loadTile(uint32_t to, const CUtensorMap* map, uint32_t barrier, int x, int y, int z,
                                         int w, uint64_t) {
  loadTile(to, map, barrier, x, y, z, w);
}
__device__ __forceinline__ void loadTile(uint32_t to, const CUtensorMap* map, uint32_t barrier, int x, int y, int z,
                                         int w, int v, uint64_t) {
  loadTile(to, map, barrier, x, y, z, w, v);
}
__device__ __forceinline__ void loadBytes(uint32_t to, const void* from, int bytes, uint32_t barrier, uint64_t) {
  emulator::loadBytes(to, from, static_cast<uint32_t>(bytes), barrier);
}
__device__ __forceinline__ void prefetchBytes(const void*, uint32_t, uint64_t) {}

__device__ __forceinline__ void storeTile(const CUtensorMap* map, uint32_t from, int column, int row) {
  emulator::storeBox(map, from, {column, row});
}
__device__ __forceinline__ void commitStores() { emulator::commitStores(); }
template <int kPending>
__device__ __forceinline__ void waitStoresRead() {
  emulator::waitStoresRead(kPending);
}

__device__ __forceinline__ void fenceForCopies() {}
__device__ __forceinline__ void storeZeros(uint32_t to) { sharedAt<uint4>(to) = {0, 0, 0, 0}; }

}  // namespace octavo::cuda::ptx
