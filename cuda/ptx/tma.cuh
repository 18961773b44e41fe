// Copies of tiles of a matrix by the tensor memory accelerator (PTX ISA, "cp.async.bulk.tensor", sm_90).
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>

namespace octavo::cuda::ptx {

__device__ __forceinline__ void prefetchTensorMap(const CUtensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

/** The box of `map` at (column, row) to shared memory; the whole box's bytes complete on `barrier`. One thread. */
__device__ __forceinline__ void loadTile(uint32_t to, const CUtensorMap* map, uint32_t barrier, int column, int row) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%3, %4}], [%2];" ::"r"(to), "l"(map), "r"(barrier), "r"(column), "r"(row) : "memory");
}

/** The same for a map of four dimensions. One thread. */
__device__ __forceinline__ void loadTile(uint32_t to, const CUtensorMap* map, uint32_t barrier, int x, int y, int z,
                                         int w) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(to), "l"(map), "r"(barrier), "r"(x), "r"(y), "r"(z), "r"(w)
      : "memory");
}

/** The same for a map of five dimensions. One thread. */
__device__ __forceinline__ void loadTile(uint32_t to, const CUtensorMap* map, uint32_t barrier, int x, int y, int z,
                                         int w, int v) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%3, %4, %5, %6, %7}], [%2];" ::"r"(to), "l"(map), "r"(barrier), "r"(x), "r"(y), "r"(z), "r"(w),
      "r"(v) : "memory");
}

/** Of lines that are read once: they leave the L2 before others. */
__device__ __forceinline__ uint64_t evictFirstPolicy() {
  uint64_t policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

/** The same for a map of four dimensions, its lines kept in the L2 by `policy`. One thread. */
__device__ __forceinline__ void loadTile(uint32_t to, const CUtensorMap* map, uint32_t barrier, int x, int y, int z,
                                         int w, uint64_t policy) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint "
      "[%0], [%1, {%3, %4, %5, %6}], [%2], %7;" ::"r"(to), "l"(map), "r"(barrier), "r"(x), "r"(y), "r"(z), "r"(w),
      "l"(policy) : "memory");
}

/** The same for a map of five dimensions. One thread. */
__device__ __forceinline__ void loadTile(uint32_t to, const CUtensorMap* map, uint32_t barrier, int x, int y, int z,
                                         int w, int v, uint64_t policy) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint "
      "[%0], [%1, {%3, %4, %5, %6, %7}], [%2], %8;" ::"r"(to), "l"(map), "r"(barrier), "r"(x), "r"(y), "r"(z), "r"(w),
      "r"(v), "l"(policy) : "memory");
}

/** `bytes` bytes, a multiple of 16 as both addresses are, to shared memory; they complete on `barrier`. One thread. */
__device__ __forceinline__ void loadBytes(uint32_t to, const void* from, int bytes, uint32_t barrier, uint64_t policy) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
      "[%0], [%1], %2, [%3], %4;" ::"r"(to), "l"(from), "r"(bytes), "r"(barrier), "l"(policy) : "memory");
}

/** `bytes` bytes, a multiple of 16 as the address, to the L2: a hint. One thread. */
__device__ __forceinline__ void prefetchBytes(const void* from, uint32_t bytes, uint64_t policy) {
  asm volatile("cp.async.bulk.prefetch.L2.global.L2::cache_hint [%0], %1, %2;" ::"l"(from), "r"(bytes), "l"(policy)
               : "memory");
}

/** Shared memory to the box at (column, row); what lies outside the matrix is not written. One thread. */
__device__ __forceinline__ void storeTile(const CUtensorMap* map, uint32_t from, int column, int row) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(map),
               "r"(from), "r"(column), "r"(row) : "memory");
}

__device__ __forceinline__ void commitStores() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

/** Until at most `kPending` of this thread's groups of stores still read their shared memory. */
template <int kPending>
__device__ __forceinline__ void waitStoresRead() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kPending) : "memory");
}

/** Orders this thread's writes to shared memory before copies that others start after a barrier. */
__device__ __forceinline__ void fenceForCopies() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

/** 16 bytes of zeros to shared memory. */
__device__ __forceinline__ void storeZeros(uint32_t to) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %1, %1, %1};" ::"r"(to), "r"(0) : "memory");
}

}  // namespace octavo::cuda::ptx
