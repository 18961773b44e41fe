// The tiled tensor-core product (mma.sync m16n8k16, fp32 accumulation) for x and weight of one 16-bit dtype.
//
// A ring of kStages tiles filled by cp.async; 128-byte rows of shared memory with the 16-byte chunks
// XOR-swizzled by the row, so that ldmatrix and the copies are free of bank conflicts. Every output is
// accumulated in steps of 16 along K from 0, by one warp, whatever the tile: all tile shapes give the
// same bits, so the choice among them (ampere_plan.cc) does not show in a row's result.
//
// Measured on an H200, bf16, 2026-11-29, random data, median, launched one by one:
//   rows       1 … 16             64
//   4096×4096  13.7 µs 2.4 TB/s   23.2 µs 1.4 TB/s
//   28672×4096 60 µs 3.9 TB/s     69 µs 3.4 TB/s
// The rungs above: large_gemm.cu for many rows; on Hopper fitted_gemm.cu from 17 rows and wide_gemm.cu.
#include "cuda/device/alignment.h"
#include "cuda/device/floats.cuh"
#include "cuda/device/shared_memory.h"
#include "cuda/gemm/linear.h"
#include "cuda/gemm/tensor_tile.cuh"

namespace octavo::cuda {
namespace {

using namespace tensor;

struct GemmArguments {
  Matrix out, x, weight;
  Vector bias;
};

/** As bytes. */
__device__ __forceinline__ Rows rowsOf(const Matrix& matrix) {
  return {static_cast<const uint8_t*>(matrix.data), matrix.rows, matrix.columns * 2, matrix.stride * 2};
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
  float sums[TileShape::kBlocksM][TileShape::kBlocksN][4] = {};
  multiplyTile<TileShape>(sums, base, rowsOf(a.x), rowsOf(a.weight), firstRow, firstColumn,
                          [](float (&c)[4], const uint32_t (&left)[4], uint32_t b0, uint32_t b1) {
                            ptx::multiplyAdd<kType>(c, left, b0, b1);
                          });
  const WarpPlace<TileShape> place;
  int lane = threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < TileShape::kBlocksM; ++i) {
#pragma unroll
    for (int j = 0; j < TileShape::kBlocksN; ++j) {
      int64_t row = firstRow + place.row + i * 16 + (lane >> 2);
      int64_t column = firstColumn + place.column + j * 8 + (lane & 3) * 2;
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
void launchTile(const GemmArguments& a, int columns, cudaStream_t stream) {
  if (a.out.rows <= SmallTile::kRows) launch<SmallTile, kType>(a, stream);
  else if (columns == MediumTile::kColumns) launch<MediumTile, kType>(a, stream);
  else launch<NarrowTile, kType>(a, stream);
}

}  // namespace

bool canMultiplyOnTensorCores(const Matrix& x, const Matrix& weight) {
  return x.dtype == weight.dtype && dtypeBytes(x.dtype) == 2 && isChunked(x) && isChunked(weight);
}

void launchTensorGemm(const Matrix& out, const Matrix& x, const Matrix& weight, const Vector& bias, int tileColumns,
                      cudaStream_t stream) {
  GemmArguments a{out, x, weight, bias};
  if (x.dtype == DType::kBF16) launchTile<DType::kBF16>(a, tileColumns, stream);
  else launchTile<DType::kF16>(a, tileColumns, stream);
}

}  // namespace octavo::cuda
