// What a warp of few_codes.cuh makes of a stage, and how the sums of a block's teams become the output.
#pragma once

#include "cuda/ptx/cluster.cuh"
#include "cuda/ptx/warp_mma.cuh"
#include "cuda/quantized/few_codes_feed.cuh"
#include "cuda/quantized/strip_scales.cuh"

namespace octavo::cuda {

template <typename Shape>
using FewCodesSums = float[Shape::kWarpStrips][Shape::kEights][4];

/** Where a lane finds what it multiplies, from the start of a stage on. */
template <typename Shape>
struct FewCodesLane {
  static constexpr int kXs = (Shape::kRows + 15) / 16;
  uint32_t x[kXs], codes, scales, zeros;

  /** `x`: of the team; `warp`: of this warp. Rows past the last repeat it: their sums are nobody's. */
  __device__ __forceinline__ FewCodesLane(const FewCodesArguments& a, uint32_t xAt, uint32_t warpAt, int rows) {
    int lane = threadIdx.x % 32, chunk = Shape::kRows == 8 ? lane >> 3 : lane >> 3 & 1;
#pragma unroll
    for (int i = 0; i < kXs; ++i) {
      int row = min(Shape::kRows == 8 ? lane & 7 : (lane & 7) + (lane >> 4) * 8 + i * 16, rows - 1);
      x[i] = xAt + row * 128 + ((chunk ^ (row & 7)) << 4);
    }
    codes = warpAt + laneOffset<Shape::kBits>();
    scales = warpAt + Shape::kWarpCodes + lane / 4 * 4;
    zeros = warpAt + Shape::kWarpCodes + (a.groupShift < 6 ? 2 : 1) * kTileRows * 2 + lane / 4 * 2;
  }
};

/** Columns of x of a tile as right operands: of every step and eight rows, two registers. */
template <typename Shape>
__device__ __forceinline__ void loadFewRight(uint32_t (&right)[kTileSteps][Shape::kEights][2],
                                             const FewCodesLane<Shape>& lane, uint32_t stage) {
  uint32_t four[4];
  if constexpr (Shape::kRows == 8) {
#pragma unroll
    for (int step = 0; step < kTileSteps; step += 2) {
      ptx::loadMatrices(four, (stage + lane.x[0]) ^ step << 5);
#pragma unroll
      for (int i = 0; i < 4; ++i) right[step + i / 2][0][i % 2] = four[i];
    }
  } else {
#pragma unroll
    for (int step = 0; step < kTileSteps; ++step) {
#pragma unroll
      for (int pair = 0; pair < FewCodesLane<Shape>::kXs; ++pair) {
        ptx::loadMatrices(four, (stage + lane.x[pair]) ^ step << 5);
#pragma unroll
        for (int i = 0; i < 4; ++i) right[step][pair * 2 + i / 2][i % 2] = four[i];
      }
    }
  }
}

/** Two strips, `first` the first of them, of the `strips` that are the warp's: the other one's sums are nobody's. */
template <typename Shape, bool kHalves, bool kZeros>
__device__ __forceinline__ void multiplyStrips(FewCodesSums<Shape>& sums, int first, const FewCodesArguments& a,
                                               const FewCodesLane<Shape>& lane, uint32_t stage,
                                               const uint32_t (&right)[kTileSteps][Shape::kEights][2]) {
  uint32_t words[2][Shape::kBits];
  StripGroup<Shape::kBits, Shape::kType> groups[2];
  float parts[2][Shape::kEights][4] = {};
  const bool hasZeros = kZeros && a.zeros;
  const auto enter = [&](int i, int group) {
    groups[i].load(stage + lane.scales + (group * kTileRows + (first + i) * kStripRows) * 2,
                   stage + lane.zeros + group * kTileRows + (first + i) * kStripRows, hasZeros);
  };
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    loadWords<Shape::kBits>(words[i], stage + lane.codes + (first + i) * stripBytes(Shape::kBits));
    enter(i, 0);
  }
#pragma unroll
  for (int step = 0; step < kTileSteps; ++step) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      if (kHalves && step == kTileSteps / 2) {
        addScaled(sums[first + i], parts[i], groups[i].scales, a.isBf16Scale);
        enter(i, 1);
#pragma unroll
        for (int j = 0; j < Shape::kEights; ++j) parts[i][j][0] = parts[i][j][1] = parts[i][j][2] = parts[i][j][3] = 0;
      }
      uint32_t left[4];
      toLeft<Shape::kBits, Shape::kType>(left, words[i], step, groups[i].offsets);
#pragma unroll
      for (int j = 0; j < Shape::kEights; ++j) {
        ptx::multiplyAdd<Shape::kType>(parts[i][j], left, right[step][j][0], right[step][j][1]);
      }
    }
  }
#pragma unroll
  for (int i = 0; i < 2; ++i) addScaled(sums[first + i], parts[i], groups[i].scales, a.isBf16Scale);
}

template <typename Shape, bool kHalves, bool kZeros>
__device__ __forceinline__ void multiplyStage(FewCodesSums<Shape>& sums, int strips, const FewCodesArguments& a,
                                              const FewCodesLane<Shape>& lane, uint32_t stage) {
  if (strips == 0) return;
  uint32_t right[kTileSteps][Shape::kEights][2];
  loadFewRight<Shape>(right, lane, stage);
#pragma unroll
  for (int first = 0; first < Shape::kWarpStrips; first += 2) {
    if (first < strips) multiplyStrips<Shape, kHalves, kZeros>(sums, first, a, lane, stage, right);
  }
}

/** The sums of a pass in shared memory: [team][row][column], every row with 4 more: rows meet different banks. */
struct FewCodesParts {
  float* data;
  int rows, columns, stride;

  __device__ __forceinline__ float total(int row, int column, int teams) const {
    float sum = 0;
    for (int team = 0; team < teams; ++team) sum += data[(team * rows + row) * stride + column];
    return sum;
  }
};

template <typename Shape>
__device__ __forceinline__ void placeSums(const FewCodesParts& parts, const FewCodesSums<Shape>& sums,
                                          const FewCodesPlace& place, int count) {
  int lane = threadIdx.x % 32, strips = place.strips(count);
  float* mine = parts.data + place.team * parts.rows * parts.stride + place.firstStrip(count) * kStripRows + lane / 4;
#pragma unroll
  for (int i = 0; i < Shape::kWarpStrips; ++i) {
    if (i >= strips) break;
#pragma unroll
    for (int j = 0; j < Shape::kEights * 4; ++j) {
      int row = j / 4 * 8 + lane % 4 * 2 + j % 2;
      if (row < parts.rows) mine[row * parts.stride + i * kStripRows + j / 2 % 2 * 8] = sums[i][j / 4][j % 4];
    }
  }
}

/** Adds what the teams, and then the blocks of a cluster, have of every output of a pass, in order, and stores it. */
template <typename Shape, typename Share>
__device__ __forceinline__ void storePass(const FewCodesSums<Shape>& sums, const FewCodesArguments& a,
                                          const Share& share, const FewCodesPass& pass, const FewCodesPlace& place,
                                          float* memory) {
  const FewCodesParts parts{memory, pass.rows, pass.count * kStripRows,
                            place.warps * Shape::kWarpStrips * kStripRows + 4};
  int rank = static_cast<int>(ptx::clusterRank()), ranks = static_cast<int>(ptx::clusterSize());
  if (a.sumsAt == 0) __syncthreads();  // no stage is read any more
  placeSums<Shape>(parts, sums, place, pass.count);
  __syncthreads();
  int all = parts.rows * parts.columns, thread = static_cast<int>(threadIdx.x);
  if (ranks > 1) {
    for (int i = thread; i < all; i += Shape::kThreads) {
      int row = i / parts.columns, column = i - row * parts.columns;
      parts.data[row * parts.stride + column] = parts.total(row, column, place.teams);
    }
    ptx::syncCluster();
  }
  for (int i = thread + rank * Shape::kThreads; i < all; i += ranks * Shape::kThreads) {
    int row = i / parts.columns, column = i - row * parts.columns, output = share.column(pass.strip) + column;
    if (output >= a.out.columns) continue;
    float sum = 0;
    if (ranks == 1) {
      sum = parts.total(row, column, place.teams);
    } else {
      uint32_t from = ptx::sharedAddress(parts.data + row * parts.stride + column);
      for (int other = 0; other < ranks; ++other) sum += ptx::loadRemote(from, other);
    }
    if (a.bias.data) sum += loadFloat(a.bias.data, a.bias.dtype, output);
    storeFloat(a.out.data, a.out.dtype, (pass.row + row) * a.out.stride + output, sum);
  }
  if (ranks > 1) ptx::syncCluster();  // others read what the next pass, or none, writes
  else __syncthreads();
}

}  // namespace octavo::cuda
