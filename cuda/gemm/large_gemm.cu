// The product of many rows by mma.sync m16n8k16 (sm_80 and later): what A100-class cards run prompts on.
//
// 128 × 256 outputs a block, 64 × 64 a warp: for each 16 of K a warp reads 4 KB of fragments for 32 products, which
// leaves shared memory, at 128 bytes a clock, a third of its time. Three stages of 64 along K are filled by cp.async.
// Fragments are read one step of 16 ahead of the products, across stages too, and each step starts a third of the
// copies of the stage after next, so that no wait stands between products. The last tile of a row or column of tiles is
// moved back to end with the matrix: no copy is guarded, and what two tiles compute they store with the same bits.
// Blocks go in bands of 16 rows of tiles, whose strips of x and weight stay in L2. Every output is summed in steps of 16
// along K, from 0, by one warp, as in tensor_gemm.cu, and has its bits.
//
// FLOPs: 2 · rows · columns · K, at mma.sync's rate: all of an A100's tensor cores (312 TFLOP/s), some 62 % of an H200's.
// The rungs below on an H200, 8192³: 64 × 64 and 128 × 128 tiles 285 TFLOP/s; 128 × 256 with fragments read in the step
// that multiplies them and every copy guarded 359.
#include <algorithm>

#include "cuda/device/alignment.h"
#include "cuda/device/shared_memory.h"
#include "cuda/gemm/linear.h"
#include "cuda/gemm/pair_store.cuh"
#include "cuda/ptx/warp_mma.cuh"

namespace octavo::cuda {
namespace {

constexpr int kRows = kLargeRows, kColumns = kLargeColumns, kThreads = 256;
constexpr int kRowBytes = 128, kSteps = 4;  // 64 elements of K a stage: four steps of 16
constexpr int kStages = 3, kStageBytes = (kRows + kColumns) * kRowBytes, kSharedBytes = kStages * kStageBytes;
constexpr int kWarpRows = 64, kWarpColumns = 64;
constexpr int kBlocksM = kWarpRows / 16, kBlocksN = kWarpColumns / 8;  // fragments of a warp
constexpr int kPassRows = kThreads / 8;                                // rows that the block copies at a time
constexpr int kPassBytes = kPassRows * kRowBytes;
constexpr int kXPasses = kRows / kPassRows, kPasses = (kRows + kColumns) / kPassRows;
constexpr int kBandTiles = 16;

struct LargeArguments {
  Matrix x, weight;
  PairStore store;
  int32_t rowTiles, columnTiles;
};

struct Fragments {
  uint32_t x[kBlocksM][4], weight[kBlocksN / 2][4];
};

/** One thread's 16 bytes of every kPassRows-th row of one operand. */
struct Source {
  const uint8_t* rows;  // the start of its first row
  int64_t passBytes;    // to the next

  __device__ __forceinline__ Source(const Matrix& of, int64_t firstRow)
      : rows(static_cast<const uint8_t*>(of.data) + (firstRow + threadIdx.x / 8) * of.stride * 2),
        passBytes(of.stride * 2 * kPassRows) {}
};

/** The copies of one block. */
struct Feed {
  Source x, weight;
  int64_t rowBytes;
  uint32_t to;  // in the first stage
  int stages;

  __device__ __forceinline__ Feed(const LargeArguments& a, int64_t firstRow, int64_t firstColumn, uint32_t shared)
      : x(a.x, firstRow), weight(a.weight, firstColumn), rowBytes(a.x.columns * 2),
        to(shared + threadIdx.x / 8 * kRowBytes + ((threadIdx.x % 8 ^ threadIdx.x / 8 % 8) << 4)),
        stages(static_cast<int>((rowBytes + kRowBytes - 1) / kRowBytes)) {}

  /** Starts part `part` of `parts` of a stage's copies; zeros behind the end of K. */
  template <int kParts>
  __device__ __forceinline__ void copy(int stage, int slot, int part) const {
    if (stage >= stages) return;
    int64_t depth = static_cast<int64_t>(stage) * kRowBytes + threadIdx.x % 8 * 16;
    int bytes = depth < rowBytes ? 16 : 0;
    if (bytes == 0) depth = 0;
    uint32_t base = to + slot * kStageBytes;
#pragma unroll
    for (int i = 0; i < kPasses / kParts; ++i) {
      int pass = part * (kPasses / kParts) + i;
      const uint8_t* from = pass < kXPasses ? x.rows + pass * x.passBytes
                                            : weight.rows + (pass - kXPasses) * weight.passBytes;
      ptx::copyAsync(base + pass * kPassBytes, from + depth, bytes);
    }
  }
};

/** Where a lane's fragments of the first step lie in a stage; those of the others differ in bits 5 and 6. */
struct LargeLane {
  uint32_t x, weight;

  __device__ __forceinline__ LargeLane() {
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, swizzle = lane & 7;
    int row = warp / 4 * kWarpRows + (lane & 15), column = warp % 4 * kWarpColumns + swizzle + 8 * (lane >> 4);
    x = row * kRowBytes + (((lane >> 4) ^ swizzle) << 4);
    weight = (kRows + column) * kRowBytes + (((lane >> 3 & 1) ^ swizzle) << 4);
  }
};

__device__ __forceinline__ void load(Fragments& to, const LargeLane& lane, uint32_t stage, int step) {
  uint32_t x = stage + (lane.x ^ (step << 5)), weight = stage + (lane.weight ^ (step << 5));
#pragma unroll
  for (int i = 0; i < kBlocksM; ++i) ptx::loadMatrices(to.x[i], x + i * 16 * kRowBytes);
#pragma unroll
  for (int j = 0; j < kBlocksN / 2; ++j) ptx::loadMatrices(to.weight[j], weight + j * 16 * kRowBytes);
}

template <DType kType>
__device__ __forceinline__ void multiply(float (&sums)[kBlocksM][kBlocksN][4], const Fragments& of) {
#pragma unroll
  for (int i = 0; i < kBlocksM; ++i) {
#pragma unroll
    for (int j = 0; j < kBlocksN; ++j) {
      ptx::multiplyAdd<kType>(sums[i][j], of.x[i], of.weight[j / 2][j % 2 * 2], of.weight[j / 2][j % 2 * 2 + 1]);
    }
  }
}

template <DType kType>
__device__ __forceinline__ void multiplyAll(float (&sums)[kBlocksM][kBlocksN][4], const Feed& feed, uint32_t shared) {
  const LargeLane lane;
  Fragments fragments[2];
#pragma unroll
  for (int stage = 0; stage < kStages - 1; ++stage) {
    feed.copy<1>(stage, stage, 0);
    ptx::commitCopies();
  }
  ptx::waitCopies<kStages - 2>();
  __syncthreads();
  load(fragments[0], lane, shared, 0);
  int slot = 0;
  for (int stage = 0; stage < feed.stages; ++stage) {
    int next = slot + 1 == kStages ? 0 : slot + 1, last = slot == 0 ? kStages - 1 : slot - 1;
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      if (step < kSteps - 1) {
        load(fragments[(step + 1) % 2], lane, shared + slot * kStageBytes, step + 1);
        // Into the slot before this one, which nobody reads since the barrier below.
        feed.copy<kSteps - 1>(stage + kStages - 1, last, step);
        if (step == kSteps - 2) ptx::commitCopies();  // also when empty, so that the count of groups stays right
      } else {
        ptx::waitCopies<kStages - 2>();
        __syncthreads();  // the next stage has landed for all, and all have read this one
        load(fragments[(step + 1) % 2], lane, shared + next * kStageBytes, 0);
      }
      multiply<kType>(sums, fragments[step % 2]);
    }
    slot = next;
  }
}

__device__ __forceinline__ void storeSums(const float (&sums)[kBlocksM][kBlocksN][4], const PairStore& store,
                                          int64_t firstRow, int64_t firstColumn) {
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  int64_t row = firstRow + warp / 4 * kWarpRows + lane / 4;
  int64_t column = firstColumn + warp % 4 * kWarpColumns + lane % 4 * 2;
#pragma unroll
  for (int j = 0; j < kBlocksN; ++j) {
    float low = store.biasAt(column + j * 8), high = store.biasAt(column + j * 8 + 1);
#pragma unroll
    for (int i = 0; i < kBlocksM; ++i) {
      store.store(row + i * 16, column + j * 8, sums[i][j][0] + low, sums[i][j][1] + high);
      store.store(row + i * 16 + 8, column + j * 8, sums[i][j][2] + low, sums[i][j][3] + high);
    }
  }
}

template <DType kType>
__global__ void __launch_bounds__(kThreads, 1) largeGemmKernel(const __grid_constant__ LargeArguments a) {
  extern __shared__ __align__(128) uint8_t bytes[];
  uint32_t shared = ptx::sharedAddress(bytes);
  int perBand = kBandTiles * a.columnTiles, band = blockIdx.x / perBand, within = blockIdx.x % perBand;
  int rows = min(kBandTiles, a.rowTiles - band * kBandTiles);
  int64_t firstRow = min(static_cast<int64_t>(band * kBandTiles + within % rows) * kRows, a.x.rows - kRows);
  int64_t firstColumn = min(static_cast<int64_t>(within / rows) * kColumns, a.weight.rows - kColumns);
  float sums[kBlocksM][kBlocksN][4] = {};
  multiplyAll<kType>(sums, Feed(a, firstRow, firstColumn, shared), shared);
  storeSums(sums, a.store, firstRow, firstColumn);
}

template <DType kType>
void launch(const LargeArguments& a, cudaStream_t stream) {
  constexpr auto kKernel = largeGemmKernel<kType>;
  allowSharedMemory<kKernel>(kSharedBytes);
  const auto blocks = static_cast<unsigned>(a.rowTiles * a.columnTiles);
  kKernel<<<blocks, kThreads, kSharedBytes, stream>>>(a);
  checkLaunch("largeGemm");
}

}  // namespace

void launchLargeGemm(const Matrix& out, const Matrix& x, const Matrix& weight, const Vector& bias,
                     cudaStream_t stream) {
  const LargeArguments a{x, weight, PairStore(out, bias), static_cast<int32_t>(ceilDivide(x.rows, kRows)),
                         static_cast<int32_t>(ceilDivide(weight.rows, kColumns))};
  if (x.dtype == DType::kBF16) launch<DType::kBF16>(a, stream);
  else launch<DType::kF16>(a, stream);
}

}  // namespace octavo::cuda
