// The product of many rows on Hopper: wgmma fed by the tensor memory accelerator (sm_90a).
//
// A block stays on its multiprocessor and takes one tile of 128 × kColumns after the other. One thread of its first
// warpgroup loads steps of 64 along K into a ring; two warpgroups multiply, 64 rows each. The copies of the next tile
// run while this one is rounded and stored. Tiles are taken in bands of kBandTiles rows of tiles, so that the strips of
// x and weight that are read at one time stay in L2. Every output is summed in steps of 16 along K, from 0, whatever
// the tile: the bits are those of tensor_gemm.cu.
//
// Measured on an H200, bf16, random data, weights rotated, 2026-11-29, TFLOP/s in replayed graphs (tensor_gemm.cu; cuBLAS
// of PyTorch 2.11 in the same session): 512 × 4096 × 4096 698 (268; 704); 2048 × 28672 × 4096 806 (321; 799); 4096³ 799
// (325; 676); 8192³ 741 (350; 701); 256 × 4096 × 4096 365 (200; 462).
#include <algorithm>

#include "cuda/device/alignment.h"
#include "cuda/device/floats.cuh"
#include "cuda/device/shared_memory.h"
#include "cuda/device/tensor_map.h"
#include "cuda/gemm/linear.h"
#include "cuda/ptx/mbarrier.cuh"
#include "cuda/ptx/named_barriers.cuh"
#include "cuda/ptx/tma.cuh"
#include "cuda/ptx/warp_mma.cuh"
#include "cuda/ptx/wgmma_columns.cuh"

namespace octavo::cuda {
namespace {

constexpr int kDepth = 64;  // elements of K a stage: rows of 128 bytes
constexpr int kRows = kWideRows, kGroupRows = 64, kGroups = 2;
constexpr int kThreads = 128 * (1 + kGroups);
[[maybe_unused]] constexpr int kBandTiles = 16;
constexpr int kRowBytes = kDepth * 2;
constexpr int kSlabBytes = kGroupRows * kRowBytes;  // 64 rows × 64 columns of the output

struct WideArguments {
  CUtensorMap x, weight, outMap;
  Matrix out;
  Vector bias;
  int32_t depth;        // K
  int32_t rowTiles, columnTiles;
  bool storesTiles;     // the output is of the same type and aligned: stored by the copy engine
};

template <int kColumns_>
struct WideTile {
  static constexpr int kColumns = kColumns_;
  static constexpr int kStages = kColumns == 256 ? 4 : kColumns == 64 ? 8 : 5;
  static constexpr int kSlabs = kColumns % 128 == 0 ? 2 : 1;  // a warpgroup stores at once
  static constexpr int kXBytes = kRows * kRowBytes, kWeightBytes = kColumns * kRowBytes;
  static constexpr int kStageBytes = kXBytes + kWeightBytes;
  static constexpr int kOutBytes = kGroups * kSlabs * kSlabBytes;
  static constexpr int kBarrierBytes = 2 * kStages * 8;
  static constexpr int kSharedBytes = 1024 + kStages * kStageBytes + kOutBytes + kBarrierBytes;  // 1024: to align
};

/** Where things lie in shared memory, as its addresses. */
template <typename Tile>
struct Shared {
  uint32_t stages, out, full, empty;
  __device__ __forceinline__ explicit Shared(const void* base) {
    stages = (ptx::sharedAddress(base) + 1023) & ~1023u;
    out = stages + Tile::kStages * Tile::kStageBytes;
    full = out + Tile::kOutBytes;
    empty = full + Tile::kStages * 8;
  }
};

/** A position in the ring, and the parity of its lap. */
template <typename Tile>
struct Slot {
  int index = 0;
  uint32_t parity = 0;
  __device__ __forceinline__ void advance() {
    if (++index == Tile::kStages) {
      index = 0;
      parity ^= 1;
    }
  }
};

struct Place {
  int row, column;  // of the tile's first output
};

template <typename Tile>
__device__ __forceinline__ Place placeOf(const WideArguments& a, int tile) {
  int perBand = kBandTiles * a.columnTiles, band = tile / perBand, within = tile % perBand;
  int rows = min(kBandTiles, a.rowTiles - band * kBandTiles);
  return {(band * kBandTiles + within % rows) * kRows, within / rows * Tile::kColumns};
}

template <typename Tile>
__device__ __forceinline__ void produce(const WideArguments& a, const Shared<Tile>& shared, int tiles, int steps) {
  Slot<Tile> slot;
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    Place place = placeOf<Tile>(a, tile);
    for (int step = 0; step < steps; ++step, slot.advance()) {
      uint32_t full = shared.full + slot.index * 8, to = shared.stages + slot.index * Tile::kStageBytes;
      ptx::waitBarrier(shared.empty + slot.index * 8, slot.parity ^ 1);
      ptx::arriveExpecting(full, Tile::kStageBytes);
      ptx::loadTile(to, &a.x, full, step * kDepth, place.row);
      ptx::loadTile(to + Tile::kXBytes, &a.weight, full, step * kDepth, place.column);
    }
  }
}

template <DType kType>
__device__ __forceinline__ uint32_t roundPair(float low, float high) {
  return kType == DType::kBF16 ? packBf16(low, high) : packF16(low, high);
}

/** Adds the bias of this lane's columns. */
template <int kCount>
__device__ __forceinline__ void addBias(float (&sums)[kCount], const WideArguments& a, int firstColumn) {
  if (!a.bias.data) return;
  int column = firstColumn + threadIdx.x % 4 * 2;
#pragma unroll
  for (int i = 0; i < kCount / 4; ++i) {
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      int64_t index = column + i * 8 + j;
      float bias = index < a.out.columns ? loadFloat(a.bias.data, a.bias.dtype, index) : 0.0f;
      sums[i * 4 + j] += bias;
      sums[i * 4 + 2 + j] += bias;
    }
  }
}

/** Rounds to shared memory and lets the copy engine store, kSlabs · 64 columns at a time. By a warpgroup. */
template <typename Tile, DType kType, int kCount>
__device__ __forceinline__ void storeTiles(const float (&sums)[kCount], const WideArguments& a, uint32_t out, int group,
                                           Place place) {
  constexpr int kSlabs = Tile::kSlabs;
  int warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
  bool leader = threadIdx.x % 128 == 0;
  constexpr int kPieces = kCount * 2 / (kSlabs * 64);
  int row = warp * 16 + (lane & 15);
#pragma unroll
  for (int piece = 0; piece < kPieces; ++piece) {
    if (leader) ptx::waitStoresRead<0>();
    ptx::meet(1 + group, 128);
#pragma unroll
    for (int j = 0; j < kSlabs * 4; ++j) {
      const float* d = sums + (piece * kSlabs * 4 + j) * 8;
      int chunk = (j % 4) * 2 + (lane >> 4);
      uint32_t to = out + j / 4 * kSlabBytes + row * kRowBytes + ((chunk ^ (row & 7)) << 4);
      ptx::storeMatrices(to, roundPair<kType>(d[0], d[1]), roundPair<kType>(d[2], d[3]), roundPair<kType>(d[4], d[5]),
                         roundPair<kType>(d[6], d[7]));
    }
    ptx::fenceForCopies();
    ptx::meet(1 + group, 128);
    if (!leader) continue;
#pragma unroll
    for (int slab = 0; slab < kSlabs; ++slab) {
      ptx::storeTile(&a.outMap, out + slab * kSlabBytes, place.column + (piece * kSlabs + slab) * 64,
                     place.row + group * kGroupRows);
    }
    ptx::commitStores();
  }
}

/** The same for any dtype and alignment of the output, element by element. */
template <int kCount>
__device__ __forceinline__ void storeElements(const float (&sums)[kCount], const WideArguments& a, int group,
                                              Place place) {
  int warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
  int64_t firstRow = place.row + group * kGroupRows + warp * 16 + lane / 4;
  int64_t firstColumn = place.column + lane % 4 * 2;
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    int64_t row = firstRow + (i >> 1 & 1) * 8, column = firstColumn + (i >> 2) * 8 + (i & 1);
    if (row < a.out.rows && column < a.out.columns) {
      storeFloat(a.out.data, a.out.dtype, row * a.out.stride + column, sums[i]);
    }
  }
}

template <typename Tile, DType kType>
__device__ __forceinline__ void multiply(const WideArguments& a, const Shared<Tile>& shared, int tiles, int steps) {
  constexpr int kCount = Tile::kColumns / 2;
  int group = static_cast<int>(threadIdx.x) / 128 - 1;
  bool firstLane = threadIdx.x % 32 == 0;
  Slot<Tile> slot;
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    float sums[kCount];
    int previous = 0;
    for (int step = 0; step < steps; ++step, slot.advance()) {
      uint32_t x = shared.stages + slot.index * Tile::kStageBytes;
      uint64_t left = ptx::tileDescriptor(x + group * kGroupRows * kRowBytes);
      uint64_t right = ptx::tileDescriptor(x + Tile::kXBytes);
      ptx::waitBarrier(shared.full + slot.index * 8, slot.parity);
      ptx::fenceProducts();
#pragma unroll
      for (int part = 0; part < kDepth / 16; ++part) {
        ptx::multiplyTiles<kType>(sums, left + 2 * part, right + 2 * part, (step | part) != 0);
      }
      ptx::commitProducts();
      ptx::waitProducts<1>();  // the step before is done: its slot may be filled again
      if (step > 0 && firstLane) ptx::arrive(shared.empty + previous * 8);
      previous = slot.index;
    }
    ptx::waitProducts<0>();
    ptx::pinRegisters(sums);
    if (firstLane) ptx::arrive(shared.empty + previous * 8);
    Place place = placeOf<Tile>(a, tile);
    addBias(sums, a, place.column);
    if (a.storesTiles) storeTiles<Tile, kType>(sums, a, shared.out + group * Tile::kSlabs * kSlabBytes, group, place);
    else storeElements(sums, a, group, place);
  }
  if (a.storesTiles && threadIdx.x % 128 == 0) ptx::waitStoresRead<0>();
}

template <typename Tile, DType kType>
__global__ void __launch_bounds__(kThreads, 1) wideGemmKernel(const __grid_constant__ WideArguments a) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ uint8_t bytes[];
  const Shared<Tile> shared(bytes);
  int tiles = a.rowTiles * a.columnTiles, steps = (a.depth + kDepth - 1) / kDepth;
  if (threadIdx.x == 0) {
    for (int i = 0; i < Tile::kStages; ++i) {
      ptx::initBarrier(shared.full + i * 8, 1);
      ptx::initBarrier(shared.empty + i * 8, kGroups * 4);
    }
    ptx::fenceBarriers();
  }
  __syncthreads();
  if (threadIdx.x < 128) {
    ptx::lowerRegisters<40>();
    if (threadIdx.x < 32 && ptx::electLane()) produce<Tile>(a, shared, tiles, steps);
  } else {
    ptx::raiseRegisters<232>();
    multiply<Tile, kType>(a, shared, tiles, steps);
  }
#endif
}

template <typename Tile, DType kType>
void launch(const Matrix& out, const Matrix& x, const Matrix& weight, const Vector& bias, const DeviceTraits& traits,
            cudaStream_t stream) {
  constexpr auto kKernel = wideGemmKernel<Tile, kType>;
  allowSharedMemory<kKernel>(Tile::kSharedBytes);
  WideArguments a{tensorMapOf(x, kRows), tensorMapOf(weight, Tile::kColumns), {}, out, bias,
                  static_cast<int32_t>(x.columns), static_cast<int32_t>(ceilDivide(out.rows, kRows)),
                  static_cast<int32_t>(ceilDivide(out.columns, Tile::kColumns)), out.dtype == kType && isChunked(out)};
  if (a.storesTiles) a.outMap = tensorMapOf(out, kGroupRows);
  const int64_t tiles = static_cast<int64_t>(a.rowTiles) * a.columnTiles;
  const auto blocks = static_cast<unsigned>(std::min<int64_t>(tiles, traits.multiprocessors));
  kKernel<<<blocks, kThreads, Tile::kSharedBytes, stream>>>(a);
  checkLaunch("wideGemm");
}

template <DType kType>
void launchType(const Matrix& out, const Matrix& x, const Matrix& weight, const Vector& bias, int columns,
                const DeviceTraits& traits, cudaStream_t stream) {
  if (columns == 64) launch<WideTile<64>, kType>(out, x, weight, bias, traits, stream);
  else if (columns == 128) launch<WideTile<128>, kType>(out, x, weight, bias, traits, stream);
  else if (columns == 192) launch<WideTile<192>, kType>(out, x, weight, bias, traits, stream);
  else launch<WideTile<256>, kType>(out, x, weight, bias, traits, stream);
}

}  // namespace

bool canMultiplyWide(const Matrix& x, const Matrix& weight, const DeviceTraits& traits) {
  constexpr int64_t kMost = int64_t{1} << 31;
  return traits.architecture >= 90 && canMultiplyOnTensorCores(x, weight) && x.rows < kMost && weight.rows < kMost &&
         x.columns < kMost;
}

void launchWideGemm(const Matrix& out, const Matrix& x, const Matrix& weight, const Vector& bias,
                    const LinearPlan& plan, const DeviceTraits& traits, cudaStream_t stream) {
  if (x.dtype == DType::kBF16) launchType<DType::kBF16>(out, x, weight, bias, plan.columns, traits, stream);
  else launchType<DType::kF16>(out, x, weight, bias, plan.columns, traits, stream);
}

}  // namespace octavo::cuda
