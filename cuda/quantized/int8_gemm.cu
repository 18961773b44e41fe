// The product of int8 codes on any tensor core from sm_80 on (mma.sync m16n8k32): sums are exact, so every tile gives
// the same bits. Hopper has w8a8_kernel.cuh.
#include "cuda/device/alignment.h"
#include "cuda/device/floats.cuh"
#include "cuda/device/shared_memory.h"
#include "cuda/gemm/tensor_tile.cuh"
#include "cuda/quantized/w8a8.h"

namespace octavo::cuda::w8a8 {
namespace {

using namespace tensor;

struct Int8Arguments {
  Matrix out;
  Rows x, weight;
  const float* xScales;
  Vector weightScales, bias;
  int32_t groupRows;
};

__device__ __forceinline__ void store(const Int8Arguments& a, int64_t row, int64_t column, int32_t sum) {
  if (row >= a.out.rows || column >= a.out.columns) return;
  float scale = loadFloat(a.weightScales.data, a.weightScales.dtype, column / a.groupRows);
  float value = static_cast<float>(sum) * a.xScales[row] * scale;
  if (a.bias.data) value += loadFloat(a.bias.data, a.bias.dtype, column);
  storeFloat(a.out.data, a.out.dtype, row * a.out.stride + column, value);
}

template <typename TileShape>
__global__ void __launch_bounds__(TileShape::kThreads, TileShape::kBlocksPerSm)
int8GemmKernel(const __grid_constant__ Int8Arguments a) {
  extern __shared__ __align__(128) uint8_t shared[];
  // Consecutive blocks share a strip of weights: it is read from memory once and then found in L2.
  int64_t firstRow = static_cast<int64_t>(blockIdx.x) * TileShape::kRows;
  int64_t firstColumn = static_cast<int64_t>(blockIdx.y) * TileShape::kColumns;
  int32_t sums[TileShape::kBlocksM][TileShape::kBlocksN][4] = {};
  multiplyTile<TileShape>(sums, ptx::sharedAddress(shared), a.x, a.weight, firstRow, firstColumn,
                          [](int32_t (&c)[4], const uint32_t (&left)[4], uint32_t b0, uint32_t b1) {
                            ptx::multiplyAddInt8(c, left, b0, b1);
                          });
  const WarpPlace<TileShape> place;
  int lane = threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < TileShape::kBlocksM; ++i) {
#pragma unroll
    for (int j = 0; j < TileShape::kBlocksN; ++j) {
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        store(a, firstRow + place.row + i * 16 + lane / 4 + k / 2 * 8,
              firstColumn + place.column + j * 8 + lane % 4 * 2 + k % 2, sums[i][j][k]);
      }
    }
  }
}

template <typename TileShape>
void launch(const Int8Arguments& a, cudaStream_t stream) {
  constexpr auto kKernel = int8GemmKernel<TileShape>;
  allowSharedMemory<kKernel>(TileShape::kSharedBytes);
  const dim3 grid(static_cast<unsigned>(ceilDivide(a.out.rows, TileShape::kRows)),
                  static_cast<unsigned>(ceilDivide(a.out.columns, TileShape::kColumns)));
  kKernel<<<grid, TileShape::kThreads, TileShape::kSharedBytes, stream>>>(a);
  checkLaunch("int8Gemm");
}

}  // namespace

// Codes behind the last column of x are zeros: whatever those of the weight are, they add nothing.
void launchInt8Ampere(const Product& p, const DeviceTraits& traits, cudaStream_t stream) {
  const Int8Arguments a{p.out,
                        {p.x.codes, p.x.rows, p.x.columns, p.x.stride},
                        {static_cast<const uint8_t*>(p.weight.codes), p.weight.rows, p.weight.columns,
                         p.weight.codeStride},
                        p.x.scales,
                        {p.weight.scales, p.weight.scaleType, 0},
                        p.bias,
                        p.weight.groupRows};
  const auto blocks = [&a]<typename TileShape>(TileShape) {
    return ceilDivide(a.out.rows, TileShape::kRows) * ceilDivide(a.out.columns, TileShape::kColumns);
  };
  const int64_t enough = traits.multiprocessors * 3 / 4;
  if (a.out.rows <= SmallTile::kRows) launch<SmallTile>(a, stream);
  else if (a.out.rows > 64 && blocks(LargeTile{}) >= enough) launch<LargeTile>(a, stream);
  else if (blocks(MediumTile{}) >= enough) launch<MediumTile>(a, stream);
  else launch<NarrowTile>(a, stream);
}

}  // namespace octavo::cuda::w8a8
