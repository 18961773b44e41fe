// The product of many rows with a weight in tiles on Hopper: codes unpacked into the registers of wgmma (sm_90a).
//
// The weight is the left operand: a warpgroup owns kBlocks times 64 of its rows, unpacks the codes of a tile to
// numbers of x's dtype, rounded once as `dequantize` does, and multiplies them with kTokens rows of x in shared
// memory. While one block of 64 is multiplied, the next is unpacked. One warp keeps a ring of stages, a tile deep,
// filled by the copy engine. With few tiles of the output, two blocks in a cluster take half of K each and swap halves
// of their sums.
//
// Measured on an H200, bf16, 4 bits in groups of 128, cold weights, 2026-11-30, in replayed graphs: with 64, 128, 256
// rows 8192 × 8192 24.4, 29.8, 58.4 µs; 28672 × 4096 43.7, 49.8, 110; 4096 × 14336 38.8, 46.4, 49.1; with 4096 rows
// 615, 606, 615 TFLOP/s, and 684 at 4096 × 4096. Registers: 168 at the launch, none spilled.
#pragma once

#include <algorithm>

#include "cuda/device/alignment.h"
#include "cuda/device/cuda_check.h"
#include "cuda/device/floats.cuh"
#include "cuda/device/shared_memory.h"
#include "cuda/device/tensor_map.h"
#include "cuda/ptx/cluster.cuh"
#include "cuda/ptx/mbarrier.cuh"
#include "cuda/ptx/named_barriers.cuh"
#include "cuda/ptx/shared_memory.cuh"
#include "cuda/ptx/tma.cuh"
#include "cuda/ptx/warp_mma.cuh"
#include "cuda/ptx/wgmma.cuh"
#include "cuda/ptx/wgmma_left.cuh"
#include "cuda/quantized/quantized.h"
#include "cuda/quantized/tile_numbers.cuh"

namespace octavo::cuda {

struct WideCodesArguments {
  CUtensorMap x, outMap;
  Matrix out;
  Vector bias;
  const uint8_t* codes;
  const uint32_t* scales;          // pairs of rows g and g + 8
  const uint16_t* zeros;
  int32_t tiles;                   // along K
  int32_t groups, groupShift;      // group = column >> groupShift
  int32_t rowTiles, tokenTiles;    // of the output
  bool storesTiles;                // the output is of x's dtype and aligned: stored by the copy engine
  bool isBf16Scale;
};

template <int kBits_, DType kType_, int kTokens_, int kBlocks_>
struct WideCodesShape {
  static constexpr int kBits = kBits_, kTokens = kTokens_, kBlocks = kBlocks_;
  static constexpr DType kType = kType_;
  static constexpr int kGroups = 2, kRows = kGroups * kBlocks * kTileRows;
  static constexpr int kThreads = 128 * (1 + kGroups), kSums = kTokens / 2;
  static constexpr int kXBytes = kTokens * 128, kStageBytes = kXBytes + kRows / kTileRows * tileBytes(kBits);
  static constexpr int kOutBytes = kGroups * kTokens * 128;  // 64 columns of the output a warpgroup
  static constexpr int kFitting = ((227 << 10) - 1024 - 256 - kOutBytes) / kStageBytes;
  static constexpr int kStages = kFitting < 10 ? kFitting : 10;
  static constexpr int kSharedBytes = 1024 + kStages * kStageBytes + kOutBytes + 2 * kStages * 8;  // 1024: to align
};

template <typename Shape>
struct WideCodesShared {
  uint32_t ring, out, full, empty;
  __device__ __forceinline__ explicit WideCodesShared(const void* base) {
    ring = (ptx::sharedAddress(base) + 1023) & ~1023u;
    out = ring + Shape::kStages * Shape::kStageBytes;
    full = out + Shape::kOutBytes;
    empty = full + Shape::kStages * 8;
  }
};

template <typename Shape>
struct WideCodesSlot {
  int index = 0;
  uint32_t parity = 0;
  __device__ __forceinline__ void advance() {
    if (++index == Shape::kStages) {
      index = 0;
      parity ^= 1;
    }
  }
};

/** Which tiles of the output a block makes, and which part of K. */
struct WideCodesShare {
  int first, step, total, begin, end, rank, ranks;

  __device__ __forceinline__ explicit WideCodesShare(const WideCodesArguments& a) {
    rank = static_cast<int>(ptx::clusterRank());
    ranks = static_cast<int>(ptx::clusterSize());
    total = a.rowTiles * a.tokenTiles;
    first = static_cast<int>(blockIdx.x) / ranks;
    step = static_cast<int>(gridDim.x) / ranks;
    begin = a.tiles * rank / ranks;
    end = a.tiles * (rank + 1) / ranks;
  }
};

template <typename Shape>
__device__ __forceinline__ void produceWide(const WideCodesArguments& a, const WideCodesShared<Shape>& shared,
                                            const WideCodesShare& share) {
  constexpr int kTiles = Shape::kRows / kTileRows, kTile = tileBytes(Shape::kBits);
  int lane = threadIdx.x % 32, rows = static_cast<int>(ceilDivide(a.out.columns, kTileRows));
  uint64_t policy = ptx::evictFirstPolicy();
  WideCodesSlot<Shape> slot;
  for (int place = share.first; place < share.total; place += share.step) {
    int firstRow = place / a.tokenTiles * kTiles, token = place % a.tokenTiles * Shape::kTokens;
    int count = min(kTiles, rows - firstRow);
    const uint8_t* from = a.codes + static_cast<int64_t>(firstRow + lane) * a.tiles * kTile;
    for (int tile = share.begin; tile < share.end; ++tile, slot.advance()) {
      uint32_t full = shared.full + slot.index * 8, to = shared.ring + slot.index * Shape::kStageBytes;
      ptx::waitBarrier(shared.empty + slot.index * 8, slot.parity ^ 1);
      if (lane == 0) {
        ptx::arriveExpecting(full, Shape::kXBytes + count * kTile);
        ptx::loadTile(to, &a.x, full, tile * kTileColumns, token);
      }
      __syncwarp();
      if (lane < count) {
        ptx::loadBytes(to + Shape::kXBytes + lane * kTile, from + static_cast<int64_t>(tile) * kTile, kTile, full,
                       policy);
      }
    }
  }
}

/** code − zero times its scale, rounded once. `scales`: the scale twice, in its own dtype, x's where kSame. */
template <DType kType, bool kSame>
__device__ __forceinline__ uint32_t scalePair(uint32_t pair, uint32_t scales) {
  if constexpr (kSame) return ptx::fusedPair<kType>(pair, scales, 0x80008000u);  // −0: a product of 0 keeps its sign
  float low, high, scale, again;
  if constexpr (kType == DType::kBF16) {
    unpackBf16(pair, low, high);
    unpackF16(scales, scale, again);
    return packBf16(low * scale, high * scale);
  } else {
    unpackF16(pair, low, high);
    unpackBf16(scales, scale, again);
    return packF16(low * scale, high * scale);
  }
}

/** The scales and offsets of this lane's rows of a block of 64, and those of the next group. */
template <int kBits, DType kType>
struct WideScales {
  uint32_t scales[2], offsets[2], nextScales, nextZeros;
  int64_t first;
  int group;

  __device__ __forceinline__ void start(const WideCodesArguments& a, int tileRow, int from) {
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
    first = static_cast<int64_t>(tileRow) * a.groups * (kTileRows / 2) + warp * (kStripRows / 2) + lane / 4;
    group = -1;
    fetch(a, from);
  }
  __device__ __forceinline__ void fetch(const WideCodesArguments& a, int from) {
    int64_t at = first + static_cast<int64_t>(min(from, a.groups - 1)) * (kTileRows / 2);
    nextScales = a.scales[at];
    nextZeros = a.zeros ? a.zeros[at] : (1u << (kBits - 1)) * 0x101u;
  }
  __device__ __forceinline__ void enter(const WideCodesArguments& a, int wanted) {
    if (wanted == group) return;
    group = wanted;
    scales[0] = __byte_perm(nextScales, 0, 0x1010);
    scales[1] = __byte_perm(nextScales, 0, 0x3232);
    offsets[0] = offsetPair<kBits, kType>(nextZeros & 0xffu);
    offsets[1] = offsetPair<kBits, kType>(nextZeros >> 8);
    fetch(a, wanted + 1);
  }
};

template <typename Shape, bool kSame>
__device__ __forceinline__ void unpackStep(uint32_t (&left)[4], const uint32_t (&codes)[Shape::kBits], int step,
                                           const WideScales<Shape::kBits, Shape::kType>& scales) {
  toLeft<Shape::kBits, Shape::kType>(left, codes, step, scales.offsets);
#pragma unroll
  for (int i = 0; i < 4; ++i) left[i] = scalePair<Shape::kType, kSame>(left[i], scales.scales[i % 2]);
}

/** This lane's numbers of a strip, as the left operands of a tile's steps. */
template <typename Shape>
__device__ __forceinline__ void unpackStrip(uint32_t (&left)[kTileSteps][4], const WideCodesArguments& a,
                                            WideScales<Shape::kBits, Shape::kType>& scales, uint32_t words, int tile) {
  uint32_t codes[Shape::kBits];
  loadWords<Shape::kBits>(codes, words);
  scales.enter(a, tile * kTileColumns >> a.groupShift);
  if (a.groupShift >= 6 && a.isBf16Scale == (Shape::kType == DType::kBF16)) {
#pragma unroll
    for (int step = 0; step < kTileSteps; ++step) unpackStep<Shape, true>(left[step], codes, step, scales);
    return;
  }
#pragma unroll
  for (int step = 0; step < kTileSteps; ++step) {
    if (step == kTileSteps / 2 && a.groupShift < 6) scales.enter(a, tile * 2 + 1);
    if (a.isBf16Scale == (Shape::kType == DType::kBF16)) unpackStep<Shape, true>(left[step], codes, step, scales);
    else unpackStep<Shape, false>(left[step], codes, step, scales);
  }
}

/** The sums of a tile of the output over this block's part of K. */
template <typename Shape>
struct WideCodesProduct {
  const WideCodesArguments& a;
  const WideCodesShared<Shape>& shared;
  const WideCodesShare& share;
  WideCodesSlot<Shape>& slot;
  WideScales<Shape::kBits, Shape::kType> scales[Shape::kBlocks];
  float sums[Shape::kBlocks][Shape::kSums];
  int previous = -1;

  __device__ __forceinline__ void multiply(uint32_t (&left)[kTileSteps][4], int block, int tile) {
    int group = static_cast<int>(threadIdx.x) / 128 - 1, warp = threadIdx.x / 32 % 4;
    uint32_t stage = shared.ring + slot.index * Shape::kStageBytes;
    uint32_t strip = stage + Shape::kXBytes + (group * Shape::kBlocks + block) * tileBytes(Shape::kBits) +
                     warp * stripBytes(Shape::kBits) + laneOffset<Shape::kBits>();
    unpackStrip<Shape>(left, a, scales[block], strip, tile);
    uint64_t right = ptx::tileDescriptor(stage);
    ptx::fenceProducts();
#pragma unroll
    for (int step = 0; step < kTileSteps; ++step) {
      ptx::multiplyLeft<Shape::kType>(sums[block], left[step], right + 2 * step, (tile > share.begin) | (step > 0));
    }
    ptx::commitProducts();
    ptx::waitProducts<1>();  // the batch before is done
  }

  /** The stage before this one was read to its end. */
  __device__ __forceinline__ void release() {
    if (previous >= 0 && threadIdx.x % 32 == 0) ptx::arrive(shared.empty + previous * 8);
    previous = slot.index;
  }

  __device__ __forceinline__ void await() { ptx::waitBarrier(shared.full + slot.index * 8, slot.parity); }

  /** Left operands must keep still while they are multiplied: two sets, which take turns. */
  __device__ __forceinline__ void run() {
    uint32_t left[2][kTileSteps][4];
    if constexpr (Shape::kBlocks == 2) {
      for (int tile = share.begin; tile < share.end; ++tile, slot.advance()) {
        await();
        multiply(left[0], 0, tile);
        release();
        multiply(left[1], 1, tile);
      }
    } else {
      int tile = share.begin;
      for (; tile + 1 < share.end; tile += 2) {
        single(left[0], tile);
        single(left[1], tile + 1);
      }
      if (tile < share.end) {
        ptx::waitProducts<0>();
        single(left[0], tile);
      }
    }
    ptx::waitProducts<0>();
#pragma unroll
    for (int i = 0; i < Shape::kBlocks; ++i) ptx::pinRegisters(sums[i]);
    if (previous >= 0 && threadIdx.x % 32 == 0) ptx::arrive(shared.empty + previous * 8);
  }

  __device__ __forceinline__ void single(uint32_t (&left)[kTileSteps][4], int tile) {
    await();
    multiply(left, 0, tile);
    release();
    slot.advance();
  }
};

/** Of a cluster of two: each keeps the sums of half of the tokens, in its lower registers, and adds the other's. */
template <typename Shape>
__device__ __forceinline__ void swapHalves(float (&sums)[Shape::kBlocks][Shape::kSums],
                                           const WideCodesShared<Shape>& shared, const WideCodesShare& share) {
  constexpr int kHalf = Shape::kSums / 2;
  int group = static_cast<int>(threadIdx.x) / 128 - 1;
  uint32_t mine = shared.ring + (group * Shape::kBlocks * kHalf * 128 + threadIdx.x % 128) * 4;
  uint32_t theirs = ptx::addressIn(mine, share.rank ^ 1);
  ptx::syncCluster();  // both have read their rings to the end
#pragma unroll
  for (int i = 0; i < Shape::kBlocks * kHalf; ++i) {
    float value = share.rank ? sums[i / kHalf][i % kHalf] : sums[i / kHalf][i % kHalf + kHalf];
    ptx::storeRemote(theirs + i * 512, value);
  }
  ptx::syncCluster();
#pragma unroll
  for (int i = 0; i < Shape::kBlocks * kHalf; ++i) {
    float& sum = sums[i / kHalf][i % kHalf];
    float value = ptx::loadShared(mine + i * 512);
    sum = (share.rank ? sums[i / kHalf][i % kHalf + kHalf] : sum) + value;
  }
}

/** Rounds 64 columns of the output to shared memory, transposed, and lets the copy engine store them. */
template <typename Shape>
__device__ __forceinline__ void storeBlock(const float (&sums)[Shape::kSums], const WideCodesArguments& a, uint32_t out,
                                           int column, int token, int tokens) {
  int group = static_cast<int>(threadIdx.x) / 128 - 1, warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
  bool leader = threadIdx.x % 128 == 0;
  if (leader) ptx::waitStoresRead<0>();
  ptx::meet(1 + group, 128);
#pragma unroll
  for (int i = 0; i < Shape::kTokens / 16; ++i) {
    if (i * 16 >= tokens) break;
    uint32_t pairs[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      float low = sums[i * 8 + 2 * j], high = sums[i * 8 + 2 * j + 1];
      pairs[j] = Shape::kType == DType::kBF16 ? packBf16(low, high) : packF16(low, high);
    }
    int row = i * 16 + (lane >> 4) * 8 + (lane & 7), chunk = warp * 2 + (lane >> 3 & 1);
    ptx::storeMatricesTransposed(out + row * 128 + ((chunk ^ (row & 7)) << 4), pairs);
  }
  ptx::fenceForCopies();
  ptx::meet(1 + group, 128);
  if (!leader) return;
  for (int row = 0; row < tokens; row += 32) ptx::storeTile(&a.outMap, out + row * 128, column, token + row);
  ptx::commitStores();
}

/** The same for any dtype and alignment of the output. */
template <typename Shape>
__device__ __forceinline__ void storeElements(const float (&sums)[Shape::kSums], const WideCodesArguments& a,
                                              int column, int token, int tokens) {
  int warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < Shape::kSums; ++i) {
    int row = i / 4 * 8 + lane % 4 * 2 + i % 2;
    int64_t to = column + warp * kStripRows + lane / 4 + i / 2 % 2 * 8;
    if (row >= tokens || token + row >= a.out.rows || to >= a.out.columns) continue;
    storeFloat(a.out.data, a.out.dtype, (token + row) * a.out.stride + to, sums[i]);
  }
}

/** Adds the bias of this lane's two columns. */
template <int kSums>
__device__ __forceinline__ void addColumnBias(float (&sums)[kSums], const WideCodesArguments& a, int column) {
  if (!a.bias.data) return;
  int64_t first = column + threadIdx.x / 32 % 4 * kStripRows + threadIdx.x % 32 / 4;
  float low = first < a.out.columns ? loadFloat(a.bias.data, a.bias.dtype, first) : 0.0f;
  float high = first + 8 < a.out.columns ? loadFloat(a.bias.data, a.bias.dtype, first + 8) : 0.0f;
#pragma unroll
  for (int i = 0; i < kSums; ++i) sums[i] += i / 2 % 2 ? high : low;
}

template <typename Shape>
__device__ __forceinline__ void multiplyWide(const WideCodesArguments& a, const WideCodesShared<Shape>& shared,
                                             const WideCodesShare& share) {
  int group = static_cast<int>(threadIdx.x) / 128 - 1;
  int tileRows = static_cast<int>(ceilDivide(a.out.columns, kTileRows));
  WideCodesSlot<Shape> slot;
  for (int place = share.first; place < share.total; place += share.step) {
    int tileRow = place / a.tokenTiles * (Shape::kRows / kTileRows) + group * Shape::kBlocks;
    WideCodesProduct<Shape> product{a, shared, share, slot};
#pragma unroll
    for (int i = 0; i < Shape::kBlocks; ++i) {
      product.scales[i].start(a, min(tileRow + i, tileRows - 1), share.begin * kTileColumns >> a.groupShift);
    }
    product.run();
    if (share.ranks > 1) {
      swapHalves<Shape>(product.sums, shared, share);
    }
    int tokens = Shape::kTokens / share.ranks, token = place % a.tokenTiles * Shape::kTokens + share.rank * tokens;
#pragma unroll
    for (int i = 0; i < Shape::kBlocks; ++i) {
      int column = (tileRow + i) * kTileRows;
      addColumnBias(product.sums[i], a, column);
      uint32_t out = shared.out + group * Shape::kTokens * 128;
      if (a.storesTiles) storeBlock<Shape>(product.sums[i], a, out, column, token, tokens);
      else storeElements<Shape>(product.sums[i], a, column, token, tokens);
    }
  }
  if (a.storesTiles && threadIdx.x % 128 == 0) ptx::waitStoresRead<0>();
}

template <typename Shape>
__global__ void __launch_bounds__(Shape::kThreads, 1) wideCodesKernel(const __grid_constant__ WideCodesArguments a) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ uint8_t bytes[];
  const WideCodesShared<Shape> shared(bytes);
  const WideCodesShare share(a);
  if (threadIdx.x == 0) {
    for (int i = 0; i < Shape::kStages; ++i) {
      ptx::initBarrier(shared.full + i * 8, 1);
      ptx::initBarrier(shared.empty + i * 8, Shape::kGroups * 4);
    }
    ptx::fenceBarriers();
  }
  __syncthreads();
  if (threadIdx.x < 128) {
    ptx::lowerRegisters<40>();
    if (threadIdx.x < 32) produceWide<Shape>(a, shared, share);
    __syncwarp();
    if (share.ranks > 1) {  // where the others swap
      ptx::syncCluster();
      ptx::syncCluster();
    }
  } else {
    ptx::raiseRegisters<232>();
    multiplyWide<Shape>(a, shared, share);
  }
#endif
}

template <typename Shape>
void launchWideShape(WideCodesArguments a, const Matrix& x, int ranks, int multiprocessors, cudaStream_t stream) {
  constexpr auto kKernel = wideCodesKernel<Shape>;
  a.x = tensorMapOf(x, Shape::kTokens);
  if (a.storesTiles) a.outMap = tensorMapOf(a.out, 32);
  a.rowTiles = static_cast<int32_t>(ceilDivide(a.out.columns, Shape::kRows));
  a.tokenTiles = static_cast<int32_t>(ceilDivide(x.rows, Shape::kTokens));
  const int64_t places = static_cast<int64_t>(a.rowTiles) * a.tokenTiles;
  allowSharedMemory<kKernel>(Shape::kSharedBytes);
  cudaLaunchConfig_t launch{};
  launch.gridDim = static_cast<unsigned>(ranks > 1 ? places * ranks : std::min<int64_t>(places, multiprocessors));
  launch.blockDim = Shape::kThreads;
  launch.dynamicSmemBytes = Shape::kSharedBytes;
  launch.stream = stream;
  cudaLaunchAttribute cluster;
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {static_cast<unsigned>(ranks), 1, 1};
  launch.attrs = &cluster;
  launch.numAttrs = 1;
  check(cudaLaunchKernelEx(&launch, kKernel, a), "the launch of wideCodes");
}

/** Of one width of codes; see launchWideCodes. */
template <int kBits>
void launchWideCodesOf(const Matrix& out, const Matrix& x, const QuantizedMatrix& weight, const Vector& bias,
                       int multiprocessors, cudaStream_t stream) {
  WideCodesArguments a{};
  a.out = out;
  a.bias = bias;
  a.codes = static_cast<const uint8_t*>(weight.codes);
  a.scales = static_cast<const uint32_t*>(weight.scales);
  a.zeros = reinterpret_cast<const uint16_t*>(weight.zeros);
  a.tiles = static_cast<int32_t>(ceilDivide(weight.columns, kTileColumns));
  a.groups = static_cast<int32_t>(weight.groups);
  a.groupShift = groupShiftOf(weight);
  a.storesTiles = out.dtype == x.dtype && isChunked(out);
  a.isBf16Scale = weight.scaleType == DType::kBF16;
  const auto run = [&]<DType kType>() {
    const auto places = [&](int64_t rows, int64_t tokens) {
      return ceilDivide(out.columns, rows) * ceilDivide(x.rows, tokens);
    };
    // Two blocks share K where one each would leave half of the card idle.
    const auto ranks = [&](int64_t count) { return count * 2 <= multiprocessors && a.tiles > 1 ? 2 : 1; };
    if (x.rows <= 64) {
      launchWideShape<WideCodesShape<kBits, kType, 64, 1>>(a, x, ranks(places(128, 64)), multiprocessors, stream);
    } else if (places(128, 128) <= multiprocessors) {
      launchWideShape<WideCodesShape<kBits, kType, 128, 1>>(a, x, ranks(places(128, 128)), multiprocessors, stream);
    } else {
      launchWideShape<WideCodesShape<kBits, kType, 128, 2>>(a, x, ranks(places(256, 128)), multiprocessors, stream);
    }
  };
  if (x.dtype == DType::kBF16) run.template operator()<DType::kBF16>();
  else run.template operator()<DType::kF16>();
}

}  // namespace octavo::cuda
