// cuda/ptx/cluster.cuh, emulated.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "cuda/ptx/mbarrier.cuh"
#include "cuda/ptx/shared_memory.cuh"

namespace octavo::cuda::ptx {

__device__ __forceinline__ uint32_t clusterRank() { return static_cast<uint32_t>(emulator::clusterRank()); }
__device__ __forceinline__ uint32_t clusterSize() { return static_cast<uint32_t>(emulator::clusterBlocks()); }

__device__ __forceinline__ void syncCluster() {
  emulator::clusterArrive();
  emulator::clusterWait();
}

__device__ __forceinline__ uint32_t addressIn(uint32_t address, uint32_t rank) {
  return emulator::addressInBlock(address, static_cast<int>(rank));
}

__device__ __forceinline__ void arriveRemote(uint32_t barrier) { arrive(barrier); }
__device__ __forceinline__ void arriveRemoteUnordered(uint32_t barrier) { arrive(barrier); }
__device__ __forceinline__ void waitRemote(uint32_t barrier, uint32_t parity) { waitBarrier(barrier, parity); }

__device__ __forceinline__ void storeRemote(uint32_t to, uint32_t x, uint32_t y, uint32_t z, uint32_t w) {
  sharedAt<uint4>(to) = {x, y, z, w};
}
__device__ __forceinline__ void storeRemote(uint32_t to, float value) { storeShared(to, value); }
__device__ __forceinline__ float loadRemote(uint32_t address, uint32_t rank) {
  return loadShared(addressIn(address, rank));
}

__device__ __forceinline__ void loadTileShared(uint32_t to, const CUtensorMap* map, uint32_t barrier, int column,
                                               int row, uint16_t mask) {
  emulator::loadBoxShared(to, map, barrier, {column, row}, mask);
}
__device__ __forceinline__ void loadTileShared(uint32_t to, const CUtensorMap* map, uint32_t barrier, int x, int y,
                                               int z, int w, uint16_t mask, uint64_t) {
  emulator::loadBoxShared(to, map, barrier, {x, y, z, w}, mask);
}
__device__ __forceinline__ void loadBytes(uint32_t to, const void* from, uint32_t bytes, uint32_t barrier) {
  emulator::loadBytes(to, from, bytes, barrier);
}

/** A launch is done before the next one begins. */
__device__ __forceinline__ void waitForPredecessors() {}
__device__ __forceinline__ void letSuccessorsBegin() {}

}  // namespace octavo::cuda::ptx
