// The tiled tensor-core product (mma.sync m16n8k16, fp32 accumulation) for x and weight of one 16-bit dtype.
//
// A ring of kStages tiles filled by cp.async; 128-byte rows of shared memory with the 16-byte chunks
// XOR-swizzled by the row, so that ldmatrix and the copies are free of bank conflicts. Every output is
// accumulated in steps of 16 along K from 0, by one warp, whatever the tile: all tile shapes give the
// same bits, so the choice among them by the number of rows does not show in a row's result.
//
// Measured on an H200, bf16, 2026-11-29, random data, median, launched one by one:
//   rows       1 … 16             64                 512           2048          4096
//   4096×4096  13.7 µs 2.4 TB/s   23.2 µs 1.4 TB/s   262 TFLOP/s   318 TFLOP/s   332 TFLOP/s
//   28672×4096 60 µs 3.9 TB/s     69 µs 3.4 TB/s
// The ladder so far: 64×64 and 128×128 tiles only, 285 TFLOP/s at 2048 rows. wgmma and TMA are the next rung
// (cuBLAS 629 to 726 TFLOP/s).
#include "cuda/device/alignment.h"
#include "cuda/device/floats.cuh"
#include "cuda/device/shared_memory.h"
#include "cuda/gemm/linear.h"
#include "cuda/ptx/warp_mma.cuh"

namespace octavo::cuda {
namespace {

constexpr int kDepth = 64;                // elements of K a stage holds: rows of 128 bytes
constexpr int kRowBytes = kDepth * 2;
constexpr int kRowChunks = kDepth / kChunk;

struct GemmArguments {
  Matrix out, x, weight;
  Vector bias;
};

/** Tile shape; a warp owns (rows / warpRows) × (columns / warpColumns) of it. */
template <int kRows_, int kColumns_, int kWarpRows_, int kWarpColumns_, int kStages_, int kBlocksPerSm_>
struct Tile {
  static constexpr int kRows = kRows_, kColumns = kColumns_;
  static constexpr int kWarpColumns = kWarpColumns_, kStages = kStages_, kBlocksPerSm = kBlocksPerSm_;
  static constexpr int kThreads = kWarpRows_ * kWarpColumns_ * 32;
  static constexpr int kBlocksM = kRows / kWarpRows_ / 16;      // 16-row fragments a warp
  static constexpr int kBlocksN = kColumns / kWarpColumns_ / 8; // 8-column fragments a warp
  static constexpr int kStageBytes = (kRows + kColumns) * kRowBytes;
  static constexpr int kSharedBytes = kStages * kStageBytes;
};
using SmallTile = Tile<16, 32, 1, 4, 8, 4>;    // up to 16 rows: as many blocks as possible read weights
using NarrowTile = Tile<64, 32, 2, 2, 6, 2>;   // few tiles: short columns for more blocks
using MediumTile = Tile<64, 128, 2, 2, 4, 2>;
using LargeTile = Tile<128, 256, 2, 4, 3, 1>;  // 64×64 a warp: a fragment from shared memory serves four products

__device__ __forceinline__ uint32_t swizzled(int row, int chunk) {
  return static_cast<uint32_t>(row * kRowBytes + ((chunk ^ (row & 7)) << 4));
}

/** Starts the copy of rows [first, first + kRows) × columns [depth, depth + kDepth); zeros outside. */
template <int kRows, int kThreads>
__device__ __forceinline__ void copyTile(uint32_t to, const Matrix& from, int64_t first, int64_t depth) {
  constexpr int kCopies = kRows * kRowChunks;
#pragma unroll
  for (int i = 0; i < (kCopies + kThreads - 1) / kThreads; ++i) {
    int index = i * kThreads + static_cast<int>(threadIdx.x);
    if (kCopies % kThreads != 0 && index >= kCopies) break;
    int row = index / kRowChunks, chunk = index % kRowChunks;
    int64_t column = depth + chunk * kChunk;
    bool valid = first + row < from.rows && column < from.columns;
    int64_t offset = valid ? (first + row) * from.stride + column : 0;
    const uint16_t* source = static_cast<const uint16_t*>(from.data) + offset;
    ptx::copyAsync(to + swizzled(row, chunk), source, valid);
  }
}

/** One stage's products into the warp's accumulators. */
template <typename TileShape, DType kType>
__device__ __forceinline__ void multiplyStage(float (&sums)[TileShape::kBlocksM][TileShape::kBlocksN][4], uint32_t x,
                                              uint32_t weight, int warpRow, int warpColumn) {
  int lane = threadIdx.x % 32;
#pragma unroll
  for (int step = 0; step < kDepth / 16; ++step) {
    uint32_t a[TileShape::kBlocksM][4];
#pragma unroll
    for (int i = 0; i < TileShape::kBlocksM; ++i) {
      int row = warpRow + i * 16 + (lane & 15);
      ptx::loadMatrices(a[i], x + swizzled(row, step * 2 + (lane >> 4)));
    }
    if constexpr (TileShape::kBlocksN == 1) {
      uint32_t b0, b1;
      ptx::loadTwoMatrices(b0, b1, weight + swizzled(warpColumn + (lane & 7), step * 2 + ((lane >> 3) & 1)));
#pragma unroll
      for (int i = 0; i < TileShape::kBlocksM; ++i) ptx::multiplyAdd<kType>(sums[i][0], a[i], b0, b1);
    } else {
#pragma unroll
      for (int j = 0; j < TileShape::kBlocksN; j += 2) {
        uint32_t b[4];
        int row = warpColumn + j * 8 + (lane & 7) + 8 * (lane >> 4);
        ptx::loadMatrices(b, weight + swizzled(row, step * 2 + ((lane >> 3) & 1)));
#pragma unroll
        for (int i = 0; i < TileShape::kBlocksM; ++i) {
          ptx::multiplyAdd<kType>(sums[i][j], a[i], b[0], b[1]);
          ptx::multiplyAdd<kType>(sums[i][j + 1], a[i], b[2], b[3]);
        }
      }
    }
  }
}

/** Bias, rounding and the store of one pair of neighbouring outputs. */
__device__ __forceinline__ void storePair(const GemmArguments& a, int64_t row, int64_t column, float low, float high) {
  if (row >= a.out.rows || column >= a.out.columns) return;
  int64_t index = row * a.out.stride + column;
  if (a.bias.data) low += loadFloat(a.bias.data, a.bias.dtype, column);
  storeFloat(a.out.data, a.out.dtype, index, low);
  if (column + 1 >= a.out.columns) return;
  if (a.bias.data) high += loadFloat(a.bias.data, a.bias.dtype, column + 1);
  storeFloat(a.out.data, a.out.dtype, index + 1, high);
}

template <typename TileShape, DType kType>
__global__ void __launch_bounds__(TileShape::kThreads, TileShape::kBlocksPerSm)
tensorGemmKernel(const __grid_constant__ GemmArguments a) {
  extern __shared__ __align__(128) uint8_t shared[];
  uint32_t base = ptx::sharedAddress(shared);
  // Consecutive blocks share a strip of weights: it is read from memory once and then found in L2.
  int64_t firstRow = static_cast<int64_t>(blockIdx.x) * TileShape::kRows;
  int64_t firstColumn = static_cast<int64_t>(blockIdx.y) * TileShape::kColumns;
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  int warpRow = warp / TileShape::kWarpColumns * TileShape::kBlocksM * 16;
  int warpColumn = warp % TileShape::kWarpColumns * TileShape::kBlocksN * 8;
  int stages = static_cast<int>((a.weight.columns + kDepth - 1) / kDepth);

  auto fill = [&](int stage) {
    if (stage < stages) {
      uint32_t to = base + stage % TileShape::kStages * TileShape::kStageBytes;
      copyTile<TileShape::kRows, TileShape::kThreads>(to, a.x, firstRow, static_cast<int64_t>(stage) * kDepth);
      copyTile<TileShape::kColumns, TileShape::kThreads>(to + TileShape::kRows * kRowBytes, a.weight, firstColumn,
                                                         static_cast<int64_t>(stage) * kDepth);
    }
    ptx::commitCopies();  // also when empty, so that the count of groups stays right
  };
#pragma unroll
  for (int stage = 0; stage < TileShape::kStages - 1; ++stage) fill(stage);

  float sums[TileShape::kBlocksM][TileShape::kBlocksN][4] = {};
  for (int stage = 0; stage < stages; ++stage) {
    ptx::waitCopies<TileShape::kStages - 2>();
    __syncthreads();  // this stage has landed for all, and the slot filled next is read no more
    fill(stage + TileShape::kStages - 1);
    uint32_t x = base + stage % TileShape::kStages * TileShape::kStageBytes;
    multiplyStage<TileShape, kType>(sums, x, x + TileShape::kRows * kRowBytes, warpRow, warpColumn);
  }
#pragma unroll
  for (int i = 0; i < TileShape::kBlocksM; ++i) {
#pragma unroll
    for (int j = 0; j < TileShape::kBlocksN; ++j) {
      int64_t row = firstRow + warpRow + i * 16 + (lane >> 2);
      int64_t column = firstColumn + warpColumn + j * 8 + (lane & 3) * 2;
      storePair(a, row, column, sums[i][j][0], sums[i][j][1]);
      storePair(a, row + 8, column, sums[i][j][2], sums[i][j][3]);
    }
  }
}

template <typename TileShape, DType kType>
void launch(const GemmArguments& a, cudaStream_t stream) {
  constexpr auto kKernel = tensorGemmKernel<TileShape, kType>;
  allowSharedMemory<kKernel>(TileShape::kSharedBytes);
  dim3 grid(static_cast<unsigned>(ceilDivide(a.out.rows, TileShape::kRows)),
            static_cast<unsigned>(ceilDivide(a.out.columns, TileShape::kColumns)));
  kKernel<<<grid, TileShape::kThreads, TileShape::kSharedBytes, stream>>>(a);
  checkLaunch("tensorGemm");
}

template <DType kType>
void launchTile(const GemmArguments& a, const DeviceTraits& traits, cudaStream_t stream) {
  auto blocks = [&a]<typename TileShape>(TileShape) {
    return ceilDivide(a.out.rows, TileShape::kRows) * ceilDivide(a.out.columns, TileShape::kColumns);
  };
  int64_t enough = traits.multiprocessors * 3 / 4;
  if (a.out.rows <= SmallTile::kRows) launch<SmallTile, kType>(a, stream);
  else if (a.out.rows > 64 && blocks(LargeTile{}) >= enough) launch<LargeTile, kType>(a, stream);
  else if (blocks(MediumTile{}) >= enough) launch<MediumTile, kType>(a, stream);
  else launch<NarrowTile, kType>(a, stream);
}

}  // namespace

bool canMultiplyOnTensorCores(const Matrix& x, const Matrix& weight) {
  return x.dtype == weight.dtype && dtypeBytes(x.dtype) == 2 && isChunked(x) && isChunked(weight);
}

void launchTensorGemm(const Matrix& out, const Matrix& x, const Matrix& weight, const Vector& bias,
                      const DeviceTraits& traits, cudaStream_t stream) {
  GemmArguments a{out, x, weight, bias};
  if (x.dtype == DType::kBF16) launchTile<DType::kBF16>(a, traits, stream);
  else launchTile<DType::kF16>(a, traits, stream);
}

}  // namespace octavo::cuda
