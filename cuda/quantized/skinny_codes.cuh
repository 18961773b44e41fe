// The product of few rows with a weight in tiles, at the speed at which its codes are read.
//
// A block takes some strips of the weight, in passes of kStrips, along all of K or, in a cluster of two, half of it. All
// of its threads keep a ring of stages filled by asynchronous copies: kTeams tiles of codes of all strips, their scales
// and the same columns of x. A team of warps multiplies one of those tiles, two strips a warp, as the left operand of
// mma.m16n8k16, with the rows of x as its columns: codes less zeros are exact there, and the sums of a tile meet their
// scale in fp32. At the end of a pass the teams' sums are added in order, then those of the cluster.
#pragma once

#include <algorithm>

#include "cuda/device/alignment.h"
#include "cuda/device/cuda_check.h"
#include "cuda/device/floats.cuh"
#include "cuda/device/shared_memory.h"
#include "cuda/ptx/warp_mma.cuh"
#include "cuda/quantized/quantized.h"
#include "cuda/quantized/tile_numbers.cuh"

namespace octavo::cuda {

struct SkinnyCodesArguments {
  Matrix out, x;
  Vector bias;
  const uint8_t* codes;
  const uint8_t* scales;
  const uint8_t* zeros;
  int32_t tiles, strips;            // along K; of 16 rows
  int32_t groups, groupShift;       // group = column >> groupShift
  int32_t blockStrips;              // strips a block, or a cluster
  bool isBf16Scale;
};

template <int kBits_, DType kType_, int kRows_, int kTeams_>
struct SkinnyCodesShape {
  static constexpr int kBits = kBits_, kRows = kRows_, kTeams = kTeams_;
  static constexpr DType kType = kType_;
  static constexpr int kWarps = 16, kThreads = kWarps * 32, kTeamWarps = kWarps / kTeams;
  static constexpr int kWarpStrips = 2, kStrips = kTeamWarps * kWarpStrips, kTileRowsOf = kStrips / kTileStrips;
  static constexpr int kXBytes = kRows * 128;                           // of a tile's columns
  static constexpr int kCodeOffset = kTeams * kXBytes, kRowBytes = kTeams * tileBytes(kBits);
  static constexpr int kMostGroups = kTeams * 2;                        // of a stage
  static constexpr int kGroupBytes = kMostGroups * kTileRows;           // zeros of a row of tiles; scales: twice that
  static constexpr int kScaleOffset = kCodeOffset + kTileRowsOf * kRowBytes;
  static constexpr int kZeroOffset = kScaleOffset + kTileRowsOf * kGroupBytes * 2;
  static constexpr int kStageBytes = kZeroOffset + kTileRowsOf * kGroupBytes;
  static constexpr int kSumStride = kStrips * kStripRows + 4;           // lanes of four rows meet different banks
  static constexpr int kSumBytes = kTeams * kRows * kSumStride * 4;
  static constexpr int kFitting = ((227 << 10) - kSumBytes) / kStageBytes;
  static constexpr int kStages = kFitting < 8 ? kFitting : 8;
  static constexpr int kSharedBytes = kStages * kStageBytes + kSumBytes;
};

/** What a block works on: strips [first, end), tiles [begin, last) of K. */
struct SkinnyShare {
  int first, end, begin, last, rank, ranks;

  __device__ __forceinline__ explicit SkinnyShare(const SkinnyCodesArguments& a) {
    rank = 0;
    ranks = 1;
#if __CUDA_ARCH__ >= 900
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(ranks));
#endif
    first = static_cast<int>(blockIdx.x) / ranks * a.blockStrips;
    end = min(first + a.blockStrips, a.strips);
    begin = a.tiles * rank / ranks;
    last = a.tiles * (rank + 1) / ranks;
  }
};

/** The strips of a pass: up to kStrips from the row of tiles `region` on, but only those that are the share's. */
template <typename Shape>
struct SkinnyPass {
  int region, from, to;
  __device__ __forceinline__ SkinnyPass(const SkinnyShare& share, int strip)
      : region(strip / kTileStrips * kTileStrips), from(strip), to(min(region + Shape::kStrips, share.end)) {}
};

/** This thread's part of the copies that fill the ring, a stage a call, through all passes of a share. */
template <typename Shape>
class SkinnyFeed {
 public:
  __device__ __forceinline__ SkinnyFeed(const SkinnyCodesArguments& a, const SkinnyShare& share)
      : a_(a), share_(share), pass_(share, share.first), tile_(share.begin) {
    enter();
  }

  /** Starts the copies of the next stage, which may be none, as one group. */
  __device__ __forceinline__ void next(uint32_t stage) {
    if (pass_.from < share_.end) {
      int count = min(Shape::kTeams, share_.last - tile_);
      copyCodes(stage, count);
      copyX(stage, count);
      copyScales(stage, count);
      tile_ += Shape::kTeams;
      if (tile_ >= share_.last) {
        pass_ = SkinnyPass<Shape>(share_, pass_.to);
        tile_ = share_.begin;
        enter();
      }
    }
    ptx::commitCopies();
  }

 private:
  static constexpr int kTile = tileBytes(Shape::kBits), kPieces = Shape::kRowBytes / 16;
  static constexpr int kTurns = (kPieces + Shape::kThreads - 1) / Shape::kThreads;

  /** Which of this thread's pieces of codes are the pass's: a bit each. */
  __device__ __forceinline__ void enter() {
    wanted_ = 0;
#pragma unroll
    for (int i = 0; i < Shape::kTileRowsOf * kTurns; ++i) {
      int piece = static_cast<int>(threadIdx.x) + i % kTurns * Shape::kThreads;
      int strip = pass_.region + i / kTurns * kTileStrips + piece % (kTile / 16) / (stripBytes(Shape::kBits) / 16);
      wanted_ |= (piece < kPieces && strip >= pass_.from && strip < pass_.to ? 1u : 0u) << i;
    }
    from_ = a_.codes + (static_cast<int64_t>(pass_.region / kTileStrips) * a_.tiles + tile_) * kTile + threadIdx.x * 16;
  }

  __device__ __forceinline__ void copyCodes(uint32_t stage, int count) {
    uint32_t to = stage + Shape::kCodeOffset + threadIdx.x * 16;
#pragma unroll
    for (int i = 0; i < Shape::kTileRowsOf * kTurns; ++i) {
      int row = i / kTurns, at = i % kTurns * Shape::kThreads * 16;
      bool inside = static_cast<int>(threadIdx.x) * 16 + at < count * kTile;
      if (!(wanted_ >> i & 1) || !inside) continue;
      ptx::copyAsync(to + row * Shape::kRowBytes + at, from_ + static_cast<int64_t>(row) * a_.tiles * kTile + at);
    }
    from_ += Shape::kRowBytes;
  }

  /** Zeros follow the last column. */
  __device__ __forceinline__ void copyX(uint32_t stage, int count) {
    constexpr int kRowPieces = Shape::kTeams * 8, kStep = Shape::kThreads / kRowPieces;
    int piece = threadIdx.x % kRowPieces, rows = static_cast<int>(a_.x.rows);
    int column = tile_ * kTileColumns + piece * kChunk, left = static_cast<int>(a_.x.columns) - column;
    if (piece >= count * 8) return;
    uint32_t to = stage + piece / 8 * Shape::kXBytes;
    const char* from = static_cast<const char*>(a_.x.data) + (left > 0 ? column * 2 : 0);
#pragma unroll
    for (int turn = 0; turn < (Shape::kRows + kStep - 1) / kStep; ++turn) {
      int row = threadIdx.x / kRowPieces + turn * kStep;
      if (row >= rows) break;
      ptx::copyAsync(to + row * 128 + (piece % 8 ^ (row & 7)) * 16, from + row * a_.x.stride * 2,
                     min(max(left * 2, 0), 16));
    }
  }

  __device__ __forceinline__ void copyScales(uint32_t stage, int count) {
    int group = tile_ * kTileColumns >> a_.groupShift;
    int groups = min((tile_ + count) * kTileColumns - 1 >> a_.groupShift, a_.groups - 1) - group + 1;
    int pieces = groups * (kTileRows / 8), row = static_cast<int>(threadIdx.x) / 256, piece = threadIdx.x % 256;
    if (row >= Shape::kTileRowsOf || piece >= pieces) return;
    int64_t at = ((pass_.region / kTileStrips + row) * static_cast<int64_t>(a_.groups) + group) * kTileRows;
    if ((pass_.region / kTileStrips + row) * kTileStrips >= pass_.to) return;
    ptx::copyAsync(stage + Shape::kScaleOffset + row * Shape::kGroupBytes * 2 + piece * 16,
                   a_.scales + at * 2 + piece * 16);
    if (!a_.zeros || piece >= pieces / 2) return;
    ptx::copyAsync(stage + Shape::kZeroOffset + row * Shape::kGroupBytes + piece * 16, a_.zeros + at + piece * 16);
  }

  const SkinnyCodesArguments& a_;
  const SkinnyShare& share_;
  SkinnyPass<Shape> pass_;
  int tile_;
  uint32_t wanted_;
  const uint8_t* from_;  // this thread's first piece of the next stage
};

/** Keeps a value in its register: it is cheaper there than computed again every stage. */
__device__ __forceinline__ void keep(uint32_t& value) { asm volatile("" : "+r"(value)); }

/** Where a lane finds what it multiplies, from the start of a stage on. */
template <typename Shape>
struct SkinnyLane {
  static constexpr int kXs = Shape::kRows == 8 ? 2 : kTileSteps;
  uint32_t x[kXs], codes, scales, zeros;

  /** `rows` of x there are; those past the end repeat the last. */
  __device__ __forceinline__ SkinnyLane(int team, int strip, int rows) {
    int lane = threadIdx.x % 32, row = Shape::kRows == 8 ? lane & 7 : (lane & 7) + (lane >> 4) * 8;
    int chunk = Shape::kRows == 8 ? lane >> 3 : lane >> 3 & 1;
    if (Shape::kRows <= 16) row = min(row, rows - 1);
#pragma unroll
    for (int i = 0; i < kXs; ++i) {
      x[i] = team * Shape::kXBytes + row * 128 + ((i * (kTileSteps / kXs) * 2 + chunk) ^ (row & 7)) * 16;
      keep(x[i]);
    }
    int tileRow = strip / kTileStrips, within = strip % kTileStrips;
    codes = Shape::kCodeOffset + tileRow * Shape::kRowBytes + team * tileBytes(Shape::kBits) +
            within * stripBytes(Shape::kBits) + laneOffset<Shape::kBits>();
    int slot = within * kStripRows + lane / 4 * 2;
    scales = Shape::kScaleOffset + tileRow * Shape::kGroupBytes * 2 + slot * 2;
    zeros = Shape::kZeroOffset + tileRow * Shape::kGroupBytes + slot;
    keep(codes);
    keep(scales);
    keep(zeros);
  }
};

/** Columns of x of a tile as right operands: of every step and eight rows, two registers. */
template <typename Shape>
__device__ __forceinline__ void loadRight(uint32_t (&right)[kTileSteps][Shape::kRows / 8][2],
                                          const SkinnyLane<Shape>& lane, uint32_t stage) {
  uint32_t four[4];
#pragma unroll
  for (int i = 0; i < SkinnyLane<Shape>::kXs; ++i) {
    if constexpr (Shape::kRows == 8) {
      ptx::loadMatrices(four, stage + lane.x[i]);
      right[2 * i][0][0] = four[0];
      right[2 * i][0][1] = four[1];
      right[2 * i + 1][0][0] = four[2];
      right[2 * i + 1][0][1] = four[3];
    } else {
#pragma unroll
      for (int eight = 0; eight < Shape::kRows / 8; eight += 2) {
        ptx::loadMatrices(four, stage + lane.x[i] + eight * 1024);
        right[i][eight][0] = four[0];
        right[i][eight][1] = four[1];
        right[i][eight + 1][0] = four[2];
        right[i][eight + 1][1] = four[3];
      }
    }
  }
}

/** Sums of a group meet the scales of rows g and g + 8. */
template <int kEights>
__device__ __forceinline__ void addScaled(float (&sums)[kEights][4], const float (&parts)[kEights][4], uint32_t pair,
                                          bool isBf16) {
  float low, high;
  if (isBf16) unpackBf16(pair, low, high);
  else unpackF16(pair, low, high);
#pragma unroll
  for (int i = 0; i < kEights; ++i) {
    sums[i][0] = fmaf(parts[i][0], low, sums[i][0]);
    sums[i][1] = fmaf(parts[i][1], low, sums[i][1]);
    sums[i][2] = fmaf(parts[i][2], high, sums[i][2]);
    sums[i][3] = fmaf(parts[i][3], high, sums[i][3]);
  }
}

/** The scales and offsets of a strip's group. */
template <int kBits, DType kType>
struct StripGroup {
  uint32_t scales, offsets[2];

  __device__ __forceinline__ void load(uint32_t scalesAt, uint32_t zerosAt, bool hasZeros) {
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(scales) : "r"(scalesAt) : "memory");
    uint32_t zeros = (1u << (kBits - 1)) * 0x101u;
    if (hasZeros) {
      uint16_t both;
      asm volatile("ld.shared.u16 %0, [%1];" : "=h"(both) : "r"(zerosAt) : "memory");
      zeros = both;
    }
    offsets[0] = offsetPair<kBits, kType>(zeros & 0xffu);
    offsets[1] = offsetPair<kBits, kType>(zeros >> 8);
  }
};

/** This warp's strips of a tile. Those that are not its block's are multiplied too: nobody reads their sums. */
template <typename Shape, bool kHalves>
__device__ __forceinline__ void multiplyTile(float (&sums)[Shape::kWarpStrips][Shape::kRows / 8][4],
                                             const SkinnyCodesArguments& a, const SkinnyLane<Shape>& lane,
                                             uint32_t stage, int group, int nextGroup, bool hasZeros) {
  constexpr int kEights = Shape::kRows / 8;
  uint32_t right[kTileSteps][kEights][2];
  uint32_t words[Shape::kWarpStrips][Shape::kBits];
  StripGroup<Shape::kBits, Shape::kType> groups[Shape::kWarpStrips];
  float parts[Shape::kWarpStrips][kEights][4] = {};
#pragma unroll
  for (int i = 0; i < Shape::kWarpStrips; ++i) {
    loadWords<Shape::kBits>(words[i], stage + lane.codes + i * stripBytes(Shape::kBits));
    groups[i].load(stage + lane.scales + group * kTileRows * 2 + i * kStripRows * 2,
                   stage + lane.zeros + group * kTileRows + i * kStripRows, hasZeros);
  }
  loadRight<Shape>(right, lane, stage);
#pragma unroll
  for (int step = 0; step < kTileSteps; ++step) {
#pragma unroll
    for (int i = 0; i < Shape::kWarpStrips; ++i) {
      if (kHalves && step == kTileSteps / 2) {
        addScaled(sums[i], parts[i], groups[i].scales, a.isBf16Scale);
        groups[i].load(stage + lane.scales + nextGroup * kTileRows * 2 + i * kStripRows * 2,
                       stage + lane.zeros + nextGroup * kTileRows + i * kStripRows, hasZeros);
#pragma unroll
        for (int j = 0; j < kEights; ++j) parts[i][j][0] = parts[i][j][1] = parts[i][j][2] = parts[i][j][3] = 0;
      }
      uint32_t left[4];
      toLeft<Shape::kBits, Shape::kType>(left, words[i], step, groups[i].offsets);
#pragma unroll
      for (int j = 0; j < kEights; ++j) {
        ptx::multiplyAdd<Shape::kType>(parts[i][j], left, right[step][j][0], right[step][j][1]);
      }
    }
  }
#pragma unroll
  for (int i = 0; i < Shape::kWarpStrips; ++i) addScaled(sums[i], parts[i], groups[i].scales, a.isBf16Scale);
}

/** The ring: where the stage that is read next lies, and that which is filled next. */
template <typename Shape>
struct SkinnyRing {
  uint32_t first, reads, fills;

  __device__ __forceinline__ explicit SkinnyRing(uint32_t base) : first(base), reads(base), fills(base) {}
  __device__ __forceinline__ void advance(uint32_t& place) const {
    place += Shape::kStageBytes;
    if (place == first + Shape::kStages * Shape::kStageBytes) place = first;
  }
};

/** The sums of this warp's strips over a pass. */
template <typename Shape>
__device__ __forceinline__ void multiplySkinny(float (&sums)[Shape::kWarpStrips][Shape::kRows / 8][4],
                                               const SkinnyCodesArguments& a, const SkinnyShare& share,
                                               const SkinnyLane<Shape>& lane, SkinnyRing<Shape>& ring,
                                               SkinnyFeed<Shape>& feed) {
  int team = threadIdx.x / 32 / Shape::kTeamWarps;
  bool hasZeros = a.zeros != nullptr;
  for (int first = share.begin; first < share.last; first += Shape::kTeams) {
    ptx::waitCopies<Shape::kStages - 2>();
    __syncthreads();  // the stage has come for all, and the one before it was read by all
    feed.next(ring.fills);
    ring.advance(ring.fills);
    int tile = first + team;
    if (tile < share.last) {
      int firstGroup = first * kTileColumns >> a.groupShift, group = tile * kTileColumns >> a.groupShift;
      if (a.groupShift >= 6) {
        multiplyTile<Shape, false>(sums, a, lane, ring.reads, group - firstGroup, 0, hasZeros);
      } else {
        int next = min(group + 1, a.groups - 1) - firstGroup;
        multiplyTile<Shape, true>(sums, a, lane, ring.reads, group - firstGroup, next, hasZeros);
      }
    }
    ring.advance(ring.reads);
  }
}

__device__ __forceinline__ void meetCluster() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

__device__ __forceinline__ float remoteFloat(uint32_t address, int rank) {
  float value = 0;
#if __CUDA_ARCH__ >= 900
  asm volatile("{\n.reg .u32 remote;\nmapa.shared::cluster.u32 remote, %1, %2;\nld.shared::cluster.f32 %0, [remote];\n}"
               : "=f"(value) : "r"(address), "r"(rank) : "memory");
#endif
  return value;
}

/** Adds what the warps have of every output of a pass, in order, and stores it. Sums: [team][row][column]. */
template <typename Shape>
__device__ __forceinline__ void storeSkinny(const float (&sums)[Shape::kWarpStrips][Shape::kRows / 8][4],
                                            const SkinnyCodesArguments& a, const SkinnyShare& share,
                                            const SkinnyPass<Shape>& pass, float* parts) {
  constexpr int kColumns = Shape::kStrips * kStripRows, kStride = Shape::kSumStride;
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32, rows = static_cast<int>(a.out.rows);
  float* mine = parts + warp / Shape::kTeamWarps * Shape::kRows * kStride;
#pragma unroll
  for (int i = 0; i < Shape::kWarpStrips * Shape::kRows / 8 * 4; ++i) {
    int strip = i / (Shape::kRows / 2), eight = i / 4 % (Shape::kRows / 8);
    int row = eight * 8 + lane % 4 * 2 + i % 2;
    int column = (warp % Shape::kTeamWarps * Shape::kWarpStrips + strip) * kStripRows + lane / 4 + i / 2 % 2 * 8;
    if (row < rows) mine[row * kStride + column] = sums[strip][eight][i % 4];
  }
  __syncthreads();
  int from = (pass.from - pass.region) * kStripRows, to = (pass.to - pass.region) * kStripRows;
  auto total = [&](int row, int column) {
    float sum = 0;
#pragma unroll
    for (int team = 0; team < Shape::kTeams; ++team) {
      sum += parts[(team * Shape::kRows + row) * kStride + column];
    }
    return sum;
  };
  if (share.ranks > 1) {
    for (int i = threadIdx.x; i < rows * kColumns; i += Shape::kWarps * 32) {
      int row = i / kColumns, column = i % kColumns;
      parts[row * kStride + column] = total(row, column);
    }
    meetCluster();
  }
  int turns = rows * kColumns;
  for (int i = threadIdx.x + share.rank * Shape::kWarps * 32; i < turns; i += share.ranks * Shape::kWarps * 32) {
    int row = i / kColumns, column = i % kColumns;
    int64_t output = static_cast<int64_t>(pass.region) * kStripRows + column;
    if (column < from || column >= to || output >= a.out.columns) continue;
    float sum = 0;
    if (share.ranks == 1) {
      sum = total(row, column);
    } else {
      for (int rank = 0; rank < share.ranks; ++rank) {
        sum += remoteFloat(ptx::sharedAddress(parts + row * kStride + column), rank);
      }
    }
    if (a.bias.data) sum += loadFloat(a.bias.data, a.bias.dtype, output);
    storeFloat(a.out.data, a.out.dtype, row * a.out.stride + output, sum);
  }
  if (share.ranks > 1) meetCluster();  // others read what the next pass, or none, writes
  else __syncthreads();
}

template <typename Shape>
__global__ void __launch_bounds__(Shape::kThreads, 1)
    skinnyCodesKernel(const __grid_constant__ SkinnyCodesArguments a) {
  extern __shared__ uint8_t bytes[];
  int warp = threadIdx.x / 32;
  SkinnyRing<Shape> ring(ptx::sharedAddress(bytes));
  const SkinnyShare share(a);
  SkinnyFeed<Shape> feed(a, share);
#pragma unroll 1
  for (int i = 0; i < Shape::kStages - 1; ++i) {
    feed.next(ring.fills);
    ring.advance(ring.fills);
  }
  const SkinnyLane<Shape> lane(warp / Shape::kTeamWarps, warp % Shape::kTeamWarps * Shape::kWarpStrips,
                               static_cast<int>(a.x.rows));
  for (SkinnyPass<Shape> pass(share, share.first); pass.from < share.end; pass = SkinnyPass<Shape>(share, pass.to)) {
    float totals[Shape::kWarpStrips][Shape::kRows / 8][4] = {};
    multiplySkinny<Shape>(totals, a, share, lane, ring, feed);
    storeSkinny<Shape>(totals, a, share, pass, reinterpret_cast<float*>(bytes + Shape::kStages * Shape::kStageBytes));
  }
}

template <typename Shape>
void launchSkinnyShape(SkinnyCodesArguments a, int ranks, int multiprocessors, cudaStream_t stream) {
  constexpr auto kKernel = skinnyCodesKernel<Shape>;
  a.blockStrips = static_cast<int32_t>(ceilDivide(a.strips, multiprocessors / ranks));
  allowSharedMemory<kKernel>(Shape::kSharedBytes);
  cudaLaunchConfig_t launch{};
  launch.gridDim = static_cast<unsigned>(ceilDivide(a.strips, a.blockStrips) * ranks);
  launch.blockDim = Shape::kThreads;
  launch.dynamicSmemBytes = Shape::kSharedBytes;
  launch.stream = stream;
  cudaLaunchAttribute cluster;
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {static_cast<unsigned>(ranks), 1, 1};
  launch.attrs = &cluster;
  launch.numAttrs = ranks > 1 ? 1 : 0;
  check(cudaLaunchKernelEx(&launch, kKernel, a), "the launch of skinnyCodes");
}

/** Of one width of codes; see launchSkinnyCodes. */
template <int kBits>
void launchSkinnyCodesOf(const Matrix& out, const Matrix& x, const QuantizedMatrix& weight, const Vector& bias,
                         int multiprocessors, cudaStream_t stream) {
  SkinnyCodesArguments a{};
  a.out = out;
  a.bias = bias;
  a.x = x;
  a.codes = static_cast<const uint8_t*>(weight.codes);
  a.scales = static_cast<const uint8_t*>(weight.scales);
  a.zeros = weight.zeros;
  a.tiles = static_cast<int32_t>(ceilDivide(weight.columns, kTileColumns));
  a.strips = static_cast<int32_t>(ceilDivide(weight.rows, kStripRows));
  a.groups = static_cast<int32_t>(weight.groups);
  a.groupShift = groupShiftOf(weight);
  a.isBf16Scale = weight.scaleType == DType::kBF16;
  const auto run = [&]<DType kType, int kRows, int kTeams>(int ranks) {
    launchSkinnyShape<SkinnyCodesShape<kBits, kType, kRows, kTeams>>(a, ranks, multiprocessors, stream);
  };
  const auto runType = [&]<DType kType>() {
    if (x.rows <= 8) run.template operator()<kType, 8, 8>(1);
    else if (x.rows <= 16) run.template operator()<kType, 16, 8>(1);
    else run.template operator()<kType, 32, 4>(2);
  };
  if (x.dtype == DType::kBF16) runType.template operator()<DType::kBF16>();
  else runType.template operator()<DType::kF16>();
}

}  // namespace octavo::cuda
