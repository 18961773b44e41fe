// The product of up to a few hundred rows on Hopper, at the speed at which the weight is read (sm_90a).
//
// A block stays on its multiprocessor and takes one tile of 64 rows of x by kColumns of the output after the other;
// kColumns is fitted to the matrix, so that all multiprocessors have the same number of tiles (linear_plan.cc). One
// thread keeps a ring, nearly all of shared memory, filled by the tensor memory accelerator, across tiles; a warpgroup
// multiplies. The launch is programmatic: a block may begin before the kernel before it has ended, and waits for it.
//
// Blocks may form clusters of two: to read once for both what both need, each loading half of it; or to divide K of a
// tile, each finishing half of its columns, with sums sent through distributed shared memory. Every output is summed in
// steps of 16 along K, from 0, by one warpgroup: the bits are those of tensor_gemm.cu, but where K is divided.
//
// Bytes, for each 64 of K: 128 · (rows of x + columns) into shared memory, as many again out of it into the tensor
// cores. 8192 × 8192 and 64 rows, tiles of 64 × 64: 134 MB of weight from memory, 32.5 µs; 268 MB through the ports of
// shared memory, 18 µs at 64 bytes a clock; 8.6 GFLOP, 10 µs. 128 rows, tiles of 64 × 256 and half of K: 335 MB, 23 µs.
// The rung below, a block for 64 columns with mma.sync: 37.4 µs with 32 rows, 52.5 with 64, 78 with 128 (H200).
#include <algorithm>

#include "cuda/device/alignment.h"
#include "cuda/device/early_launch.h"
#include "cuda/device/shared_memory.h"
#include "cuda/device/tensor_map.h"
#include "cuda/gemm/fitted_fold.cuh"
#include "cuda/gemm/linear.h"
#include "cuda/ptx/wgmma_columns.cuh"

namespace octavo::cuda {
namespace {

using namespace fitted;

template <typename T, DType kType>
__device__ __forceinline__ void multiply(const Arguments& a, const Block<T>& block) {
  Block<T> ring = block;
  int first = block.firstStep(a), end = block.endStep(a);
  uint32_t parity = 0;
  block.forEachTile(a, [&](int row, int column) {
    float sums[T::kSums];
    int previous = 0;
    for (int step = first; step < end; ++step, ring.advance(a)) {
      ptx::waitBarrier(ring.full + ring.slot * 8, ring.parity);
      ptx::fenceProducts();
#pragma unroll
      for (int slab = 0; slab < T::kSlabs; ++slab) {
        uint64_t left = ptx::tileDescriptor(ring.x(a, slab)), right = ptx::tileDescriptor(ring.weight(a, slab));
#pragma unroll
        for (int part = 0; part < kDepth / 16; ++part) {
          ptx::multiplyTiles<kType>(sums, left + 2 * part, right + 2 * part, step > first || (slab | part) != 0);
        }
      }
      ptx::commitProducts();
      ptx::waitProducts<1>();  // the step before is done
      if (step > first) release(a, ring, previous);
      previous = ring.slot;
    }
    ptx::waitProducts<0>();
    ptx::pinRegisters(sums);
    release(a, ring, previous);
    if (a.parts > 1) {
      fold(sums, block, parity);
      column += static_cast<int>(ring.rank) * (T::kColumns / 2);
      parity ^= 1;
    }
    storeSums(sums, a.store, row, column, a.parts > 1);
  });
}

template <typename T>
__device__ __forceinline__ void initBarriers(const Arguments& a, const Block<T>& block) {
  for (int i = 0; i < a.stages; ++i) {
    ptx::initBarrier(block.full + i * 8, 1);
    ptx::initBarrier(block.empty + i * 8, kWarps * a.clusterRows * a.clusterColumns);
  }
  for (int i = 0; i < 2; ++i) ptx::initBarrier(block.folded + i * 8, kWarps * 32);
  ptx::fenceBarriers();
}

template <typename T, DType kType>
__global__ void __launch_bounds__(kThreads, 1) fittedGemmKernel(const __grid_constant__ Arguments a) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ uint8_t bytes[];
  const Block<T> block(bytes, a);
  int warp = threadIdx.x / 32;
  ptx::letSuccessorsBegin();
  if (threadIdx.x == kWarps * 32) {
    ptx::prefetchTensorMap(&a.weight);
    ptx::prefetchTensorMap(&a.x);
  }
  if (threadIdx.x == 0) initBarriers(a, block);
  __syncthreads();
  ptx::waitForPredecessors();  // x, and it may be the weight, come from them
  if (block.ranks > 1) ptx::syncCluster();  // its barriers are ready for the other's copies
  if (warp < kWarps) multiply<T, kType>(a, block);
  else if (ptx::electLane()) produce<T>(a, block);
  __syncwarp();
  if (block.ranks > 1) ptx::syncCluster();  // the other's last copies and arrivals have come
#endif
}

int roundUp(int64_t value, int multiple) { return static_cast<int>(ceilDivide(value, multiple)) * multiple; }

template <typename T>
Arguments argumentsOf(const Matrix& out, const Matrix& x, const Matrix& weight, const Vector& bias,
                      TileSharing sharing) {
  const int clusterRows = sharing == TileSharing::kWeight ? 2 : 1, clusterColumns = sharing == TileSharing::kX ? 2 : 1;
  const int parts = sharing == TileSharing::kDepth ? 2 : 1;
  // Halves of whole swizzle atoms, 8 rows.
  const int xRows = roundUp(std::min<int64_t>(x.rows, kFittedRows), 8 * clusterColumns);
  const int stageBytes = T::kSlabs * (xRows + T::kColumns) * kRowBytes;
  const int64_t rowTiles = ceilDivide(x.rows, kFittedRows), columnTiles = ceilDivide(out.columns, T::kColumns);
  return {tensorMapOf(x, xRows / clusterColumns),
          tensorMapOf(weight, T::kColumns / clusterRows),
          PairStore(out, bias),
          static_cast<int32_t>(ceilDivide(x.columns, kDepth * T::kSlabs)),
          static_cast<int32_t>(ceilDivide(x.columns, 2 * kDepth) / 2 * (2 / T::kSlabs)),  // the same K for all tiles
          xRows,
          std::min(kMostStages, (kRingBytes - (parts > 1 ? T::kFoldBytes : 0)) / stageBytes),
          stageBytes,
          clusterRows,
          clusterColumns,
          parts,
          static_cast<int32_t>(ceilDivide(rowTiles, clusterRows)),
          static_cast<int32_t>(ceilDivide(columnTiles, clusterColumns))};
}

template <typename T, DType kType>
void launch(const Arguments& a, const DeviceTraits& traits, cudaStream_t stream) {
  constexpr auto kKernel = fittedGemmKernel<T, kType>;
  allowSharedMemory<kKernel>(kSharedBytes);
  const int64_t ranks = a.clusterRows * a.clusterColumns * a.parts, groups = int64_t{a.rowGroups} * a.columnGroups;
  const int64_t blocks = std::min(groups, std::max<int64_t>(1, traits.multiprocessors / ranks)) * ranks;
  launchEarly(kKernel,
              {dim3(static_cast<unsigned>(blocks)), dim3(kThreads), kSharedBytes, stream, static_cast<unsigned>(ranks)},
              "fittedGemm", a);
}

}  // namespace

void launchFittedGemm(const Matrix& out, const Matrix& x, const Matrix& weight, const Vector& bias,
                      const LinearPlan& plan, const DeviceTraits& traits, cudaStream_t stream) {
  const auto run = [&]<int kColumns>() {
    if (plan.columns != kColumns) return;
    using T = Tile<kColumns>;
    const Arguments a = argumentsOf<T>(out, x, weight, bias, plan.sharing);
    if (x.dtype == DType::kBF16) launch<T, DType::kBF16>(a, traits, stream);
    else launch<T, DType::kF16>(a, traits, stream);
  };
  const auto find = [&]<size_t... kIndex>(std::index_sequence<kIndex...>) {
    (run.template operator()<kFittedColumns[kIndex]>(), ...);
  };
  find(std::make_index_sequence<std::size(kFittedColumns)>());
}

}  // namespace octavo::cuda
