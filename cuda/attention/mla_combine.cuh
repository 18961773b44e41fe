// Brings together what workers have left of items that no single one has folded: a second, short launch.
#pragma once

#include <algorithm>

#include "cuda/attention/mla_schedule.cuh"
#include "cuda/device/early_launch.h"
#include "cuda/ptx/cluster.cuh"

namespace octavo::cuda::mla {

/** What has become of an item, for each slice of it: nothing, the fold of its first chunks is there, it is written. */
enum Progress : int32_t { kNothing, kHasBegun, kIsWritten };

/** The first vector of a slot's thread: maxima in log2 and sums of its two rows. */
struct Scales {
  float maximum[2], sum[2];

  __device__ __forceinline__ Scales() : maximum{-INFINITY, -INFINITY}, sum{0, 0} {}
  __device__ __forceinline__ explicit Scales(const float4* at) : Scales(__ldcg(at)) {}
  __device__ __forceinline__ explicit Scales(float4 head) {
    maximum[0] = head.x;
    maximum[1] = head.y;
    sum[0] = head.z;
    sum[1] = head.w;
  }
  __device__ __forceinline__ float4 head() const { return make_float4(maximum[0], maximum[1], sum[0], sum[1]); }

  /** Becomes the fold of this and of later keys; by what the values of both are scaled. */
  __device__ __forceinline__ void fold(const Scales& next, float (&left)[2], float (&right)[2]) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float most = fmaxf(maximum[r], next.maximum[r]), base = most == -INFINITY ? 0.0f : most;
      left[r] = exp2f(maximum[r] - base);
      right[r] = exp2f(next.maximum[r] - base);
      maximum[r] = most;
      sum[r] = fmaf(next.sum[r], right[r], sum[r] * left[r]);
    }
  }
};

/** Two values of each of a thread's two rows, and how two of them fold. */
__device__ __forceinline__ float4 foldValues(float4 before, float4 next, const float (&left)[2],
                                             const float (&right)[2]) {
  return make_float4(fmaf(next.x, right[0], before.x * left[0]), fmaf(next.y, right[0], before.y * left[0]),
                     fmaf(next.z, right[1], before.z * left[1]), fmaf(next.w, right[1], before.w * left[1]));
}

__device__ __forceinline__ float inverse(float sum) { return sum > 0 ? 1.0f / sum : 0.0f; }

/** Slice `slice` of a slot, from this lane's first vector on; its next ones lie 32 further on. */
template <typename Shape>
__device__ __forceinline__ float4* sliceAt(const Arguments& a, int slot, int slice) {
  return a.partials + (static_cast<int64_t>(slot) * kSlices + slice) * (Shape::kVectors * 32) + threadIdx.x % 32;
}

__device__ __forceinline__ int64_t progressIndex(const Arguments& a, int sequence, int item, int slice) {
  return (static_cast<int64_t>(sequence) * a.rowTiles + item) * kSlices + slice;
}
template <typename Shape>
__device__ __forceinline__ int32_t* progressOf(const Arguments& a, const Segment<Shape>& item, int slice) {
  return a.progress + progressIndex(a, item.index, item.item, slice);
}

/** Whether the fold of the item's first chunks is there. By a whole warp, which then may read it. */
template <typename Shape>
__device__ __forceinline__ bool hasBegun(const Arguments& a, const Segment<Shape>& item, int slice) {
  int32_t progress = 0;
  if (threadIdx.x % 32 == 0) progress = *static_cast<volatile int32_t*>(progressOf(a, item, slice));
  progress = __shfl_sync(0xffffffffu, progress, 0);
  __threadfence();
  return progress == kHasBegun;
}

/** By a whole warp. What others go on from must have been written. */
template <typename Shape>
__device__ __forceinline__ void publish(const Arguments& a, const Segment<Shape>& item, int slice, Progress progress) {
  if (progress == kHasBegun) __threadfence();
  __syncwarp();
  if (threadIdx.x % 32 == 0) *static_cast<volatile int32_t*>(progressOf(a, item, slice)) = progress;
}

/** Of a row of the output the lane's first column in a slice; its next ones come in pairs 8 columns apart. */
template <typename Shape>
__device__ __forceinline__ uint16_t* outAt(const Arguments& a, const Row& row, int slice) {
  return static_cast<uint16_t*>(a.out.data) + row.token * a.out.tokenStride + row.head * a.out.dim +
         Shape::columnOf(slice) + threadIdx.x % 4 * 2;
}

/** Writes a lane's two rows of 8 columns, `vector` times 8 from the slice's first. */
template <DType kType, typename Shape>
__device__ __forceinline__ void writeVector(const Arguments& a, const Row& low, const Row& high, int slice, int vector,
                                            float4 values, float lowScale, float highScale) {
  const auto write = [&](const Row& row, float left, float right, float scale) {
    if (!row.exists) return;
    const uint32_t pair = packPair<kType>(left * scale, right * scale);
    *reinterpret_cast<uint32_t*>(outAt<Shape>(a, row, slice) + vector * 8) = pair;
  };
  write(low, values.x, values.y, lowScale);
  write(high, values.z, values.w, highScale);
}

/** Waits for the decode kernel; whether it has written the slice. Leaves nothing behind. By a whole block. */
__device__ __forceinline__ bool takeWritten(int32_t* progress) {
  ptx::waitForPredecessors();
  const bool isWritten = __ldcg(progress) == kIsWritten;
  __syncthreads();
  if (threadIdx.x == 0) *progress = kNothing;
  return isWritten;
}

/** Folds the pieces of a slice and writes it. A warp has some of its vectors. By a whole block. */
template <DType kType, typename Shape>
__device__ __forceinline__ void combineSlice(const Arguments& a, const Segment<Shape>& whole,
                                             const Pieces<Shape>& pieces, int slice) {
  constexpr int kOwn = (Shape::kVectors - 1) / 4;  // vectors of a warp
  constexpr int kAhead = kOwn > 4 ? 2 : 4;          // pieces on their way
  const int count = pieces.count(), lane = threadIdx.x % 32, first = static_cast<int>(threadIdx.x) / 32 * kOwn;
  Scales scales;
  float4 total[kOwn] = {};
  for (int start = 0; start < count; start += 32) {
    const int own = pieces.slot(a, min(start + lane, count - 1));
#pragma unroll kAhead
    for (int i = 0; i < min(32, count - start); ++i) {
      const float4* from = sliceAt<Shape>(a, __shfl_sync(0xffffffffu, own, i), slice);
      float left[2], right[2];
      scales.fold(Scales(from), left, right);
#pragma unroll
      for (int j = 0; j < kOwn; ++j) total[j] = foldValues(total[j], __ldcg(from + (1 + first + j) * 32), left, right);
    }
  }
  int row = Shape::rowOf(slice) + lane / 4;
  const Row low(a, whole, row), high(a, whole, row + 8);
  float lowScale = inverse(scales.sum[0]), highScale = inverse(scales.sum[1]);
#pragma unroll
  for (int j = 0; j < kOwn; ++j) {
    writeVector<kType, Shape>(a, low, high, slice, first + j, total[j], lowScale, highScale);
  }
}

constexpr int kFewSequences = 32;  // for which the line is found while the decode kernel still runs

/**
 * A block has the slices blockIdx.x, + gridDim.x, … of all, no more than its threads: of many sequences nearly all are
 * written, and it looks at its own at once. `most`: items that a sequence has at most.
 */
template <DType kType, typename Shape>
__global__ void __launch_bounds__(128, 4) combineKernel(const __grid_constant__ Arguments a, int most) {
#if __CUDA_ARCH__ >= 900
  ptx::letSuccessorsBegin();
  const int all = a.batch.sequences * most * kSlices;
  const bool isFew = a.batch.sequences <= kFewSequences;
  __shared__ uint32_t isLeft[4];
  if (!isFew) {
    ptx::waitForPredecessors();
    const int own = static_cast<int>(blockIdx.x + threadIdx.x * gridDim.x);
    int32_t* const progress = own < all ? a.progress + progressIndex(a, own / kSlices / most, own / kSlices % most,
                                                                     own % kSlices) : nullptr;
    const bool isWritten = progress == nullptr || __ldcg(progress) == kIsWritten;
    if (progress != nullptr) *progress = kNothing;
    const uint32_t left = __ballot_sync(0xffffffffu, !isWritten);
    if (threadIdx.x % 32 == 0) isLeft[threadIdx.x / 32] = left;
    __syncthreads();
  }
  for (int turn = 0, at = static_cast<int>(blockIdx.x); at < all; ++turn, at += static_cast<int>(gridDim.x)) {
    if (!isFew && (isLeft[turn / 32] >> turn % 32 & 1) == 0) continue;
    const int index = at / kSlices / most, item = at / kSlices % most, slice = at % kSlices;
    const Sequence<Shape> sequence(a, index);
    if (sequence.tiles == 0 || item >= sequence.items) continue;
    Segment<Shape> whole{sequence, index, item, 0, sequence.tiles, Shape::chunkTiles(sequence.tiles), 0};
    int before;
    const Line line = lineOf<Shape>(a, index, before);
    whole.position = before + item / a.abreast * sequence.tiles;
    const Pieces<Shape> pieces(line, whole);
    if (isFew && takeWritten(progressOf(a, whole, slice))) continue;
    combineSlice<kType, Shape>(a, whole, pieces, slice);
  }
#endif
}

/** After the decode kernel of the same arguments, of which its blocks need not have ended to be launched. */
template <DType kType, typename Shape>
void launchCombine(const Arguments& a, cudaStream_t stream) {
  constexpr int kThreads = 128, kBlocks = 528;  // as many as there is room for beside each other, if that does
  const int queries = std::min(a.batch.maxQueryLength, LatentScratchLayout::kMostQueries);
  const int most = (queries * a.query.heads + Shape::kTileRows - 1) / Shape::kTileRows;
  const int slices = a.batch.sequences * most * kSlices;
  const int blocks = a.batch.sequences <= kFewSequences
                         ? slices
                         : std::min(slices, std::max(kBlocks, (slices + kThreads - 1) / kThreads));
  launchEarly(combineKernel<kType, Shape>, {dim3(static_cast<unsigned>(blocks)), dim3(kThreads), 0, stream},
              "combineLatents", a, most);
}

}  // namespace octavo::cuda::mla
