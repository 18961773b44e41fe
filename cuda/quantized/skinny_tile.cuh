// What a block of bulk_codes.cuh works on, and what its warps make of a stage. A Shape says how a stage in shared
// memory is laid out, and which warps multiply what of it.
#pragma once

#include "cuda/device/floats.cuh"
#include "cuda/ptx/cluster.cuh"
#include "cuda/ptx/shared_memory.cuh"
#include "cuda/ptx/warp_mma.cuh"
#include "cuda/quantized/strip_scales.cuh"
#include "cuda/quantized/tile_numbers.cuh"
#include "ops/tensor.h"

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

/** What a block works on: strips [first, end), tiles [begin, last) of K. */
struct SkinnyShare {
  int first, end, begin, last, rank, ranks;

  __device__ __forceinline__ explicit SkinnyShare(const SkinnyCodesArguments& a) {
    rank = static_cast<int>(ptx::clusterRank());
    ranks = static_cast<int>(ptx::clusterSize());
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

/** Where a lane finds what it multiplies, from the start of a stage on. It is kept, not found again every stage. */
template <typename Shape>
struct SkinnyLane {
  static constexpr int kXs = Shape::kRows == 8 ? 2 : kTileSteps;
  uint32_t x[kXs], codes, scales, zeros;
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
        ptx::loadMatrices(four, stage + lane.x[i] + eight * 8 * Shape::kXRowBytes);
        right[i][eight][0] = four[0];
        right[i][eight][1] = four[1];
        right[i][eight + 1][0] = four[2];
        right[i][eight + 1][1] = four[3];
      }
    }
  }
}

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
    ptx::syncCluster();
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
        sum += ptx::loadRemote(ptx::sharedAddress(parts + row * kStride + column), rank);
      }
    }
    if (a.bias.data) sum += loadFloat(a.bias.data, a.bias.dtype, output);
    storeFloat(a.out.data, a.out.dtype, row * a.out.stride + output, sum);
  }
  if (share.ranks > 1) ptx::syncCluster();  // others read what the next pass, or none, writes
  else __syncthreads();
}

/** All but the share of a block, which depends on the kernel. */
inline SkinnyCodesArguments skinnyArgumentsOf(const Matrix& out, const Matrix& x, const QuantizedMatrix& weight,
                                              const Vector& bias) {
  const auto up = [](int64_t value, int64_t step) { return static_cast<int32_t>((value + step - 1) / step); };
  SkinnyCodesArguments a{};
  a.out = out;
  a.x = x;
  a.bias = bias;
  a.codes = static_cast<const uint8_t*>(weight.codes);
  a.scales = static_cast<const uint8_t*>(weight.scales);
  a.zeros = weight.zeros;
  a.tiles = up(weight.columns, kTileColumns);
  a.strips = up(weight.rows, kStripRows);
  a.groups = static_cast<int32_t>(weight.groups);
  a.groupShift = groupShiftOf(weight);
  a.isBf16Scale = weight.scaleType == DType::kBF16;
  return a;
}

}  // namespace octavo::cuda
