// Blocks of a cluster: barriers and memory of the others (PTX ISA, sm_90), and the launch that need not wait.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>

namespace octavo::cuda::ptx {

/** A block of a launch without clusters, as all are before sm_90, is a cluster of its own. */
__device__ __forceinline__ uint32_t clusterRank() {
  uint32_t rank = 0;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
#endif
  return rank;
}
__device__ __forceinline__ uint32_t clusterSize() {
  uint32_t blocks = 1;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
#endif
  return blocks;
}

/** All threads of the cluster have come, and what they wrote before is visible. Every thread. */
__device__ __forceinline__ void syncCluster() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

/** Where `address` of this block's shared memory lies in block `rank`. */
__device__ __forceinline__ uint32_t addressIn(uint32_t address, uint32_t rank) {
  uint32_t remote;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(address), "r"(rank));
  return remote;
}

/** Arrives at a barrier of any block of the cluster; what this thread wrote before is visible to who waits for it. */
__device__ __forceinline__ void arriveRemote(uint32_t barrier) {
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(barrier) : "memory");
}

/** The same for a thread that wrote nothing which the other reads: without the release, which waits for memory. */
__device__ __forceinline__ void arriveRemoteUnordered(uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(barrier) : "memory");
}

/** waitBarrier, after which the stores of the other block's threads that arrived are visible. */
__device__ __forceinline__ void waitRemote(uint32_t barrier, uint32_t parity) {
  asm volatile(
      "{\n.reg .pred done;\n"
      "wait_%=: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra wait_%=;\n}" ::"r"(barrier), "r"(parity) : "memory");
}

__device__ __forceinline__ void storeRemote(uint32_t to, uint32_t x, uint32_t y, uint32_t z, uint32_t w) {
  asm volatile("st.shared::cluster.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(x), "r"(y), "r"(z), "r"(w)
               : "memory");
}

__device__ __forceinline__ void storeRemote(uint32_t to, float value) {
  asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(to), "f"(value) : "memory");
}

/** What lies at `address` in block `rank`. */
__device__ __forceinline__ float loadRemote(uint32_t address, uint32_t rank) {
  float value = 0;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("{\n.reg .u32 remote;\nmapa.shared::cluster.u32 remote, %1, %2;\nld.shared::cluster.f32 %0, [remote];\n}"
               : "=f"(value) : "r"(address), "r"(rank) : "memory");
#endif
  return value;
}

/** loadTile to the same place in every block of `mask`; each one's barrier counts the bytes. One thread. */
__device__ __forceinline__ void loadTileShared(uint32_t to, const CUtensorMap* map, uint32_t barrier, int column,
                                               int row, uint16_t mask) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
      "[%0], [%1, {%3, %4}], [%2], %5;" ::"r"(to), "l"(map), "r"(barrier), "r"(column), "r"(row), "h"(mask) : "memory");
}

/** The same for a map of four dimensions, its lines kept in the L2 by `policy`. One thread. */
__device__ __forceinline__ void loadTileShared(uint32_t to, const CUtensorMap* map, uint32_t barrier, int x, int y,
                                               int z, int w, uint16_t mask, uint64_t policy) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster"
      ".L2::cache_hint [%0], [%1, {%3, %4, %5, %6}], [%2], %7, %8;" ::"r"(to), "l"(map), "r"(barrier), "r"(x), "r"(y),
      "r"(z), "r"(w), "h"(mask), "l"(policy) : "memory");
}

/** `bytes` contiguous bytes, a multiple of 16 as both addresses. One thread. */
__device__ __forceinline__ void loadBytes(uint32_t to, const void* from, uint32_t bytes, uint32_t barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
               "l"(from), "r"(bytes), "r"(barrier) : "memory");
}

/** The kernels before this one have ended and what they wrote is visible (after a programmatic launch). */
__device__ __forceinline__ void waitForPredecessors() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
/** A kernel launched so may begin; its own wait still lasts until this one has ended. */
__device__ __forceinline__ void letSuccessorsBegin() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

}  // namespace octavo::cuda::ptx
