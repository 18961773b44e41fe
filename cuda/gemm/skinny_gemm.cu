// The product of a few rows on Hopper, at the speed at which the weight is read (sm_90a).
//
// A block owns kColumns rows of the weight. One thread keeps a ring of steps of 64 along K filled by the tensor memory
// accelerator; a warp multiplies 16 rows of the weight, as the left operand of mma.m16n8k16, with the rows of x as its
// columns. Every output is summed in steps of 16 along K, from 0, by one warp: the bits are those of tensor_gemm.cu,
// which is as fast up to 16 rows and slower from there.
//
// Measured on an H200, bf16, 32 rows, cold weights, 2026-11-30, replayed graphs (tensor_gemm.cu): 4096 × 4096 16.4 µs
// (22.7), 8192 × 8192 37.4 (53.6), 28672 × 4096 63.9 (67.5), 4096 × 14336 45.2 (71.9), 6144 × 4096 19.5 (28.9). With 64
// rows the blocks' reading of x from L2 weighs as much as the weight: 56 µs against 52 at 8192 × 8192. Multicast of x
// in clusters of 2 and 4 ran at 115 and 125: the blocks then wait for the slowest of them at each step.
#include <algorithm>

#include "cuda/device/alignment.h"
#include "cuda/device/floats.cuh"
#include "cuda/device/shared_memory.h"
#include "cuda/device/tensor_map.h"
#include "cuda/gemm/linear.h"
#include "cuda/ptx/mbarrier.cuh"
#include "cuda/ptx/tma.cuh"
#include "cuda/ptx/warp_mma.cuh"

namespace octavo::cuda {
namespace {

constexpr int kDepth = 64;  // elements of K a stage: rows of 128 bytes
constexpr int kRowBytes = kDepth * 2;
constexpr int kRingBytes = 96 << 10;  // two blocks fit a multiprocessor: one's start and end hide behind the other

struct SkinnyArguments {
  CUtensorMap x, weight;
  Matrix out;
  Vector bias;
  int32_t steps;  // along K
};

/** All rows of x, padded; kColumns of the output, 16 a warp. */
template <int kColumns_>
struct SkinnyTile {
  static constexpr int kRows = kSkinnyRows, kColumns = kColumns_;
  static constexpr int kWarps = kColumns / 16, kThreads = (kWarps + 1) * 32;  // the last warp loads
  static constexpr int kWeightBytes = kColumns * kRowBytes, kStageBytes = kWeightBytes + kRows * kRowBytes;
  static constexpr int kStages = kRingBytes / kStageBytes < 16 ? kRingBytes / kStageBytes : 16;
  static constexpr int kSharedBytes = 1024 + kStages * kStageBytes + 2 * kStages * 8;  // 1024: to align
};

template <typename Tile>
struct Stages {
  uint32_t ring, full, empty;
  int index = 0;
  uint32_t parity = 0;

  __device__ __forceinline__ explicit Stages(const void* base) {
    ring = (ptx::sharedAddress(base) + 1023) & ~1023u;
    full = ring + Tile::kStages * Tile::kStageBytes;
    empty = full + Tile::kStages * 8;
  }
  __device__ __forceinline__ uint32_t weight() const { return ring + index * Tile::kStageBytes; }
  __device__ __forceinline__ uint32_t x() const { return weight() + Tile::kWeightBytes; }
  __device__ __forceinline__ uint32_t fullBarrier() const { return full + index * 8; }
  __device__ __forceinline__ uint32_t emptyBarrier() const { return empty + index * 8; }
  static __device__ __forceinline__ uint32_t swizzled(int row, int chunk) {
    return static_cast<uint32_t>(row * kRowBytes + ((chunk ^ (row & 7)) << 4));
  }
  __device__ __forceinline__ void advance() {
    if (++index == Tile::kStages) {
      index = 0;
      parity ^= 1;
    }
  }
};

template <typename Tile>
__device__ __forceinline__ void produce(const SkinnyArguments& a, Stages<Tile> stages, int firstColumn) {
  for (int step = 0; step < a.steps; ++step, stages.advance()) {
    ptx::waitBarrier(stages.emptyBarrier(), stages.parity ^ 1);
    ptx::arriveExpecting(stages.fullBarrier(), Tile::kStageBytes);
    ptx::loadTile(stages.weight(), &a.weight, stages.fullBarrier(), step * kDepth, firstColumn);
    ptx::loadTile(stages.x(), &a.x, stages.fullBarrier(), step * kDepth, 0);
  }
}

template <typename Tile, DType kType>
__device__ __forceinline__ void multiply(float (&sums)[Tile::kRows / 8][4], const SkinnyArguments& a,
                                         Stages<Tile> stages, int warp) {
  int lane = threadIdx.x % 32;
  for (int step = 0; step < a.steps; ++step, stages.advance()) {
    ptx::waitBarrier(stages.fullBarrier(), stages.parity);
#pragma unroll
    for (int part = 0; part < kDepth / 16; ++part) {
      uint32_t w[4];
      ptx::loadMatrices(w, stages.weight() + stages.swizzled(warp * 16 + (lane & 15), part * 2 + (lane >> 4)));
#pragma unroll
      for (int i = 0; i < Tile::kRows / 8; i += 2) {
        uint32_t x[4];
        int row = i * 8 + (lane & 7) + 8 * (lane >> 4);
        ptx::loadMatrices(x, stages.x() + stages.swizzled(row, part * 2 + ((lane >> 3) & 1)));
        ptx::multiplyAdd<kType>(sums[i], w, x[0], x[1]);
        ptx::multiplyAdd<kType>(sums[i + 1], w, x[2], x[3]);
      }
    }
    __syncwarp();
    if (lane == 0) ptx::arrive(stages.emptyBarrier());
  }
}

template <int kTiles>
__device__ __forceinline__ void store(const float (&sums)[kTiles][4], const SkinnyArguments& a, int firstColumn) {
  int lane = threadIdx.x % 32;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    int64_t column = firstColumn + half * 8 + lane / 4;
    if (column >= a.out.columns) continue;
    float bias = a.bias.data ? loadFloat(a.bias.data, a.bias.dtype, column) : 0.0f;
#pragma unroll
    for (int i = 0; i < kTiles * 2; ++i) {
      int64_t row = i / 2 * 8 + lane % 4 * 2 + i % 2;
      if (row >= a.out.rows) continue;
      float sum = sums[i / 2][half * 2 + i % 2];
      storeFloat(a.out.data, a.out.dtype, row * a.out.stride + column, a.bias.data ? sum + bias : sum);
    }
  }
}

template <typename Tile, DType kType>
__global__ void __launch_bounds__(Tile::kThreads) skinnyGemmKernel(const __grid_constant__ SkinnyArguments a) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ uint8_t bytes[];
  const Stages<Tile> stages(bytes);
  int warp = threadIdx.x / 32, firstColumn = static_cast<int>(blockIdx.x) * Tile::kColumns;
  if (threadIdx.x == 0) {
    for (int i = 0; i < Tile::kStages; ++i) {
      ptx::initBarrier(stages.full + i * 8, 1);
      ptx::initBarrier(stages.empty + i * 8, Tile::kWarps);
    }
    ptx::fenceBarriers();
  }
  __syncthreads();
  if (warp == Tile::kWarps) {
    if (ptx::electLane()) produce<Tile>(a, stages, firstColumn);
  } else {
    float sums[Tile::kRows / 8][4] = {};
    multiply<Tile, kType>(sums, a, stages, warp);
    store(sums, a, firstColumn + warp * 16);
  }
#endif
}

template <typename Tile>
void launch(const Matrix& out, const Matrix& x, const Matrix& weight, const Vector& bias, cudaStream_t stream) {
  const SkinnyArguments a{tensorMapOf(x, Tile::kRows), tensorMapOf(weight, Tile::kColumns), out, bias,
                          static_cast<int32_t>(ceilDivide(x.columns, kDepth))};
  const auto blocks = static_cast<unsigned>(ceilDivide(out.columns, Tile::kColumns));
  const auto run = [&]<DType kType>() {
    constexpr auto kKernel = skinnyGemmKernel<Tile, kType>;
    allowSharedMemory<kKernel>(Tile::kSharedBytes);
    kKernel<<<blocks, Tile::kThreads, Tile::kSharedBytes, stream>>>(a);
  };
  if (x.dtype == DType::kBF16) run.template operator()<DType::kBF16>();
  else run.template operator()<DType::kF16>();
  checkLaunch("skinnyGemm");
}

}  // namespace

void launchSkinnyGemm(const Matrix& out, const Matrix& x, const Matrix& weight, const Vector& bias,
                      const DeviceTraits& traits, cudaStream_t stream) {
  // The most columns a block that keep three quarters of the card busy: fewer would read x more often.
  const int64_t enough = traits.multiprocessors * 3 / 4;
  if (ceilDivide(out.columns, 64) >= enough) launch<SkinnyTile<64>>(out, x, weight, bias, stream);
  else if (ceilDivide(out.columns, 32) >= enough) launch<SkinnyTile<32>>(out, x, weight, bias, stream);
  else launch<SkinnyTile<16>>(out, x, weight, bias, stream);
}

}  // namespace octavo::cuda
