// The product of few rows with a weight in tiles on any card; bulk_codes.cuh is Hopper's, and faster there.
//
// A block takes some strips of the weight, in passes of kStrips, along all of K. All of its threads keep a ring of
// stages filled by asynchronous copies: kTeams tiles of codes of all strips, their scales and the same columns of x. A
// team of warps multiplies one of those tiles, two strips a warp, as the left operand of mma.m16n8k16, with the rows
// of x as its columns: codes less zeros are exact there, and the sums of a tile meet their scale in fp32. At the end
// of a pass the teams' sums are added in order.
#pragma once

#include <algorithm>

#include "cuda/device/alignment.h"
#include "cuda/device/cuda_check.h"
#include "cuda/device/shared_memory.h"
#include "cuda/quantized/quantized.h"
#include "cuda/quantized/skinny_tile.cuh"

namespace octavo::cuda {

template <int kBits_, DType kType_, int kRows_, int kTeams_>
struct SkinnyCodesShape {
  static constexpr int kBits = kBits_, kRows = kRows_, kTeams = kTeams_;
  static constexpr DType kType = kType_;
  static constexpr int kWarps = 16, kThreads = kWarps * 32, kTeamWarps = kWarps / kTeams;
  static constexpr int kWarpStrips = 2, kStrips = kTeamWarps * kWarpStrips, kTileRowsOf = kStrips / kTileStrips;
  static constexpr int kXRowBytes = 128, kXBytes = kRows * kXRowBytes;  // of a tile's columns
  static constexpr int kCodeOffset = kTeams * kXBytes, kRowBytes = kTeams * tileBytes(kBits);
  static constexpr int kMostGroups = kTeams * 2;                        // of a stage
  static constexpr int kGroupBytes = kMostGroups * kTileRows;           // zeros of a row of tiles; scales: twice that
  static constexpr int kScaleOffset = kCodeOffset + kTileRowsOf * kRowBytes;
  static constexpr int kZeroOffset = kScaleOffset + kTileRowsOf * kGroupBytes * 2;
  static constexpr int kStageBytes = kZeroOffset + kTileRowsOf * kGroupBytes;
  static constexpr int kSumStride = kStrips * kStripRows + 4;           // lanes of four rows meet different banks
  static constexpr int kSumBytes = kTeams * kRows * kSumStride * 4;
  static constexpr int kFitting = ((163 << 10) - kSumBytes) / kStageBytes;  // what an A100 has
  static constexpr int kStages = kFitting < 8 ? kFitting : 8;
  static constexpr int kSharedBytes = kStages * kStageBytes + kSumBytes;
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

/** `rows` of x there are; those past the end repeat the last. */
template <typename Shape>
__device__ __forceinline__ SkinnyLane<Shape> skinnyLane(int team, int strip, int rows) {
  SkinnyLane<Shape> found;
  int lane = threadIdx.x % 32, row = Shape::kRows == 8 ? lane & 7 : (lane & 7) + (lane >> 4) * 8;
  int chunk = Shape::kRows == 8 ? lane >> 3 : lane >> 3 & 1;
  if (Shape::kRows <= 16) row = min(row, rows - 1);
#pragma unroll
  for (int i = 0; i < found.kXs; ++i) {
    found.x[i] = team * Shape::kXBytes + row * 128 + ((i * (kTileSteps / found.kXs) * 2 + chunk) ^ (row & 7)) * 16;
    ptx::keep(found.x[i]);
  }
  int tileRow = strip / kTileStrips, within = strip % kTileStrips;
  found.codes = Shape::kCodeOffset + tileRow * Shape::kRowBytes + team * tileBytes(Shape::kBits) +
                within * stripBytes(Shape::kBits) + laneOffset<Shape::kBits>();
  int slot = within * kStripRows + lane / 4 * 2;
  found.scales = Shape::kScaleOffset + tileRow * Shape::kGroupBytes * 2 + slot * 2;
  found.zeros = Shape::kZeroOffset + tileRow * Shape::kGroupBytes + slot;
  ptx::keep(found.codes);
  ptx::keep(found.scales);
  ptx::keep(found.zeros);
  return found;
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
  const SkinnyLane<Shape> lane = skinnyLane<Shape>(
      warp / Shape::kTeamWarps, warp % Shape::kTeamWarps * Shape::kWarpStrips, static_cast<int>(a.x.rows));
  for (SkinnyPass<Shape> pass(share, share.first); pass.from < share.end; pass = SkinnyPass<Shape>(share, pass.to)) {
    float totals[Shape::kWarpStrips][Shape::kRows / 8][4] = {};
    multiplySkinny<Shape>(totals, a, share, lane, ring, feed);
    storeSkinny<Shape>(totals, a, share, pass, reinterpret_cast<float*>(bytes + Shape::kStages * Shape::kStageBytes));
  }
}

template <typename Shape>
void launchSkinnyShape(SkinnyCodesArguments a, int multiprocessors, cudaStream_t stream) {
  constexpr auto kKernel = skinnyCodesKernel<Shape>;
  a.blockStrips = static_cast<int32_t>(ceilDivide(a.strips, multiprocessors));
  allowSharedMemory<kKernel>(Shape::kSharedBytes);
  const auto blocks = static_cast<unsigned>(ceilDivide(a.strips, a.blockStrips));
  kKernel<<<blocks, Shape::kThreads, Shape::kSharedBytes, stream>>>(a);
  checkLaunch("skinnyCodes");
}

/** Of one width of codes; see launchSkinnyCodes. */
template <int kBits>
void launchSkinnyCodesOf(const Matrix& out, const Matrix& x, const QuantizedMatrix& weight, const Vector& bias,
                         int multiprocessors, cudaStream_t stream) {
  const SkinnyCodesArguments a = skinnyArgumentsOf(out, x, weight, bias);
  const auto run = [&]<DType kType>() {
    if (x.rows <= 8) launchSkinnyShape<SkinnyCodesShape<kBits, kType, 8, 8>>(a, multiprocessors, stream);
    else launchSkinnyShape<SkinnyCodesShape<kBits, kType, 16, 8>>(a, multiprocessors, stream);
  };
  if (x.dtype == DType::kBF16) run.template operator()<DType::kBF16>();
  else run.template operator()<DType::kF16>();
}

}  // namespace octavo::cuda
