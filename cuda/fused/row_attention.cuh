// headNorm, rope, kvWrite and attention of sequences with one token each in one kernel, where they are few.
//
// What a step of few sequences waits for is not memory but one thing after the other: with a kernel that writes keys and one
// that attends, 16 µs passed from the end of one product to the start of the next at a context of 256, of which the cache's
// bytes would take 1. Here eight blocks of a cluster have a KV head of a sequence, each every eighth slice of 16 keys, and
// ask for their first slices before the kernel ahead has ended: of these keys all but the last are older than the step.
// That one, and the queries, are normed and turned as they come; the block that has the last slice writes the key and the
// value to the cache and into the slice. States meet in shared memory, of eight warps, then of eight blocks, always in one
// order, so that a result depends on its own sequence alone.
//
// H200, 2026-12-01, the chain of an 8B model in bf16 at a context of 256, with four warps a block: 16.2 µs between the
// products became 9.6, a step 3.88 ms for 4.08. Where products left room for these blocks beside them (72 registers, 150
// KB) it was 8.9, but the products lost more. What is left is one latency after the other. With eight warps it has not been
// measured.
#pragma once

#include "cuda/attention/split_ring.cuh"
#include "cuda/fused/head.cuh"
#include "cuda/ptx/cluster.cuh"

namespace octavo::cuda::rows {

using split::kSliceKeys;

constexpr int kRanks = 8;                   // blocks of a cluster
constexpr int kAdders = 8, kAttendThreads = kAdders * 32;
constexpr int kSlots = 2;                   // of a warp: slices on their way
constexpr int kMostRows = 8;                // query heads of a KV head

struct AttendArguments {
  CacheLayout cache;
  RopeWrite step;
  Heads out;
  AttentionBatch batch;
  Variant variant;
  float scaleLog2;
  int32_t window;
  int32_t blockShift;  // log2 of the slices in a cache block
  int32_t groupSize;   // query heads of a KV head
  int32_t layer;
  int32_t planes;      // of keys or values in a block: 2 · layers
};

/** Where things lie in shared memory, from a multiple of 1024 on. States take the place of slices that are done with. */
template <int kDim>
struct AttendPlace {
  using Rows = split::SliceRows<kDim, true>;
  static constexpr int kSliceBytes = 2 * Rows::kBytes, kWarpBytes = kSlots * kSliceBytes;
  static constexpr int kSixteens = kDim / 16;
  static constexpr int kQueryAt = kAdders * kWarpBytes, kRowBytes = split::SharedQuery<kDim, 1>::kRowBytes;
  static constexpr int kFreshAt = kQueryAt + kMostRows * kRowBytes;    // the new key, then the new value
  static constexpr int kAnglesAt = kFreshAt + 2 * kDim * 2;
  static constexpr int kInboxAt = kAnglesAt + kDim / 2 * 8;            // [rank][2][lane] of float4
  static constexpr int kBarriersAt = kInboxAt + kRanks * 2 * 32 * 16;  // [warp][slot]
  static constexpr int kBytes = kBarriersAt + kAdders * kSlots * 8 + 1024;
  static_assert((kSixteens + 1) * 32 * 16 <= kWarpBytes && kSixteens <= kRanks && kSixteens <= kAdders);
};

/** A state's share of a lane: maxima and sums of two query rows, and a sixteen of their values. */
struct Piece {
  float4 head, values;
  /** Of what weight a state with this maximum is beside `most`: nothing where neither has seen a key. */
  static __device__ __forceinline__ float weight(float maximum, float most) {
    return exp2f(maximum - (most == -INFINITY ? 0.0f : most));
  }
};

/** Of kCount pieces, in their order. `at(i)` gives the i-th. */
template <int kCount, typename At>
__device__ __forceinline__ Piece folded(const At& at) {
  Piece pieces[kCount];
  float most[2] = {-INFINITY, -INFINITY};
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    pieces[i] = at(i);
    most[0] = fmaxf(most[0], pieces[i].head.x);
    most[1] = fmaxf(most[1], pieces[i].head.y);
  }
  Piece all{make_float4(most[0], most[1], 0, 0), make_float4(0, 0, 0, 0)};
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    const float first = Piece::weight(pieces[i].head.x, most[0]), second = Piece::weight(pieces[i].head.y, most[1]);
    all.head.z = fmaf(pieces[i].head.z, first, all.head.z);
    all.head.w = fmaf(pieces[i].head.w, second, all.head.w);
    all.values.x = fmaf(pieces[i].values.x, first, all.values.x);
    all.values.y = fmaf(pieces[i].values.y, second, all.values.y);
    all.values.z = fmaf(pieces[i].values.z, first, all.values.z);
    all.values.w = fmaf(pieces[i].values.w, second, all.values.w);
  }
  return all;
}

template <DType kType, int kDim>
class RowAttention {
 public:
  __device__ __forceinline__ RowAttention(const AttendArguments& a, const CUtensorMap* map, uint8_t* shared)
      : a_(a), map_(map), shared_(shared) {
    // Entries past the context are of no use, but to wait for the length first would be to wait twice.
#pragma unroll
    for (int i = 0; i < kSlots; ++i) {
      const bool isThere = sliceOf(i) >> a.blockShift < a.batch.tableStride;
      ahead_[i] = isThere ? blockOf(sliceOf(i)) : 0;
    }
    end_ = a.batch.contextLength[sequence_];
    first_ = a.window > 0 ? end_ - a.window : -1;
    firstSlice_ = max(0, first_) / kSliceKeys;
    slices_ = (end_ + kSliceKeys - 1) / kSliceKeys - firstSlice_;
    const int64_t slot = a.step.slots[sequence_];
    const bool isLast = slices_ > 0 && rank_ == (slices_ - 1) % kRanks;
    cacheSlot_ = isLast ? slot : -1;
  }

  __device__ __forceinline__ void run() {
    begin();
    ptx::waitForPredecessors();
    for (int i = warp_; i < a_.groupSize + (cacheSlot_ >= 0 ? 2 : 0); i += kAdders) makeHead(i);
    ptx::syncCluster();  // and that the others have begun, whose memory is written below
    attend();
    __syncthreads();
    if (warp_ < P::kSixteens) send(warp_);
    ptx::syncCluster();
    if (warp_ == 0 && rank_ < P::kSixteens) finish();
  }

 private:
  using P = AttendPlace<kDim>;
  using Source = split::TensorSource<kDim, 1>;

  /** All that needs nothing of the kernel ahead. */
  __device__ __forceinline__ void begin() {
    if (lane_ == 0) {
      for (int slot = 0; slot < kSlots; ++slot) ptx::initBarrier(barrier(slot), 1);
      ptx::fenceBarriers();
#pragma unroll
      for (int i = 0; i < kSlots; ++i) bring(i, firstSlice_ == 0);
    }
    __syncwarp();
    const float position = static_cast<float>(a_.step.positions[sequence_]);
    for (int i = static_cast<int>(threadIdx.x); i < kDim / 2; i += kAttendThreads) {
      angles()[i] = rotationOf(position, a_.step.inverseFrequencies[i], a_.step.magnitude);
    }
    auto* const words = reinterpret_cast<uint32_t*>(shared_ + P::kQueryAt);
    for (int i = static_cast<int>(threadIdx.x) + a_.groupSize * P::kRowBytes / 4; i < kMostRows * P::kRowBytes / 4; i += kAttendThreads) {
      words[i] = 0;
    }
    __syncthreads();
  }

  /** Of the cache: where slice `number` of the sequence lies. */
  __device__ __forceinline__ int blockOf(int number) const {
    return a_.batch.blockTable[int64_t{sequence_} * a_.batch.tableStride + (number >> a_.blockShift)];
  }

  /** The warp's i-th slice; one lane. */
  __device__ __forceinline__ void bring(int i, bool isAhead) const {
    const int slice = sliceOf(i);
    if (slice >= slices_) return;
    const int number = firstSlice_ + slice, row = (number & ((1 << a_.blockShift) - 1)) * kSliceKeys;
    const int block = isAhead ? ahead_[i % kSlots] : blockOf(number);
    const uint32_t full = barrier(i % kSlots);
    ptx::arriveExpecting(full, P::kSliceBytes);
    ptx::loadTile(slotAt(i % kSlots), map_, full, 0, kvHead_ * a_.cache.blockSize + row, 0, block * a_.planes + a_.layer * 2);
  }

  /** Query heads of the group, then the key and the value. */
  __device__ __forceinline__ void makeHead(int index) const {
    const RopeWrite& step = a_.step;
    const bool isQuery = index < a_.groupSize, isKey = index == a_.groupSize;
    const Heads& from = isQuery ? step.query : isKey ? step.key : step.value;
    const Vector& norm = isQuery ? step.queryNorm : step.keyNorm;
    const int number = isQuery ? kvHead_ * a_.groupSize + index : kvHead_;
    const int64_t start = sequence_ * from.tokenStride + int64_t{number} * kDim;
    constexpr int kHalf = kDim / 2;
    Head head;
    loadHead(head, from, start);
    if ((isQuery || isKey) && norm.data) normHead(head, from, start, norm, step.normEpsilon);
    if (isQuery || isKey) turnHead(head, kHalf, from.dtype, angles());
    if (isQuery) return storeHead(shared_ + P::kQueryAt + index * P::kRowBytes, kType, 0, kHalf, head);
    const CacheLayout& cache = a_.cache;
    const int64_t place = cacheSlot_ / cache.blockSize * cache.blockStride + cacheSlot_ % cache.blockSize * kDim +
                          (isKey ? cache.keyStart : cache.valueStart) + kvHead_ * cache.headStride;
    storeHead(cache.data, kType, place, kHalf, head);
    storeHead(shared_ + P::kFreshAt, kType, isKey ? 0 : kDim, kHalf, head);
  }

  __device__ __forceinline__ void attend() const {
    split::State<kDim, 1> state;
    state.clear();
    split::RegisterQuery<kDim, 1> query;
    query.load(ptx::sharedAddress(shared_ + P::kQueryAt));
    const split::Scoring scoring{a_.scaleLog2, a_.variant.cap, a_.variant.inverseCap};
    const split::RowTokens<false> tokens{1, a_.groupSize, 0};
#pragma unroll 1
    for (int i = 0; sliceOf(i) < slices_; ++i) {
      const int slice = sliceOf(i), before = (firstSlice_ + slice) * kSliceKeys;
      const split::Visible visible[1] = {{first_ - before, end_ - before}};
      const uint32_t from[1] = {slotAt(i % kSlots)};
      ptx::waitBarrier(barrier(i % kSlots), static_cast<uint32_t>(i / kSlots % 2));
      if (slice == slices_ - 1 && cacheSlot_ >= 0) refresh(from[0], (end_ - 1) % kSliceKeys);
      if (!visible[0].all()) Source::clear(from[0], visible[0]);
      split::addSlices<kType, kDim, 1, 1, typename P::Rows>(state, query, from, scoring, visible, tokens);
      __syncwarp();
      if (lane_ == 0) {
        ptx::fenceForCopies();
        bring(i + kSlots, false);
      }
    }
    state.closeSum();
    state.store(states(warp_));
  }

  /** The key and the value of the step itself take their places in a slice. */
  __device__ __forceinline__ void refresh(uint32_t slice, int row) const {
    constexpr int kChunks = kDim / 8;
    for (int i = lane_; i < 2 * kChunks; i += 32) {
      const int chunk = i % kChunks;
      const uint32_t to = slice + static_cast<uint32_t>(i / kChunks * P::Rows::kBytes + chunk / 8 * 2048) +
                          P::Rows::at(row, chunk % 8);
      const uint4 bits = reinterpret_cast<const uint4*>(shared_ + P::kFreshAt)[i];
      *reinterpret_cast<uint4*>(shared_ + (to - ptx::sharedAddress(shared_))) = bits;
    }
    __syncwarp();
  }

  /** A sixteen of the block's values, to the block that finishes it. */
  __device__ __forceinline__ void send(int sixteen) const {
    const Piece piece = folded<kAdders>([&](int warp) {
      return Piece{states(warp)[0], states(warp)[(1 + sixteen) * 32]};
    });
    const uint32_t to = ptx::addressIn(ptx::sharedAddress(inbox(rank_)), static_cast<uint32_t>(sixteen));
    sendVector(to, piece.head);
    sendVector(to + 32 * sizeof(float4), piece.values);
  }
  __device__ __forceinline__ static void sendVector(uint32_t to, const float4& v) {
    ptx::storeRemote(to, __float_as_uint(v.x), __float_as_uint(v.y), __float_as_uint(v.z), __float_as_uint(v.w));
  }

  __device__ __forceinline__ void finish() const {
    const Piece piece = folded<kRanks>([&](int rank) { return Piece{inbox(rank)[0], inbox(rank)[32]}; });
    const int row = lane_ % 4 * 2, dim = rank_ * 16 + lane_ / 4;
    finishRow(row, dim, piece.head.x, piece.head.z, piece.values.x, piece.values.z);
    finishRow(row + 1, dim, piece.head.y, piece.head.w, piece.values.y, piece.values.w);
  }
  __device__ __forceinline__ void finishRow(int row, int dim, float most, float sum, float first, float second) const {
    if (row >= a_.groupSize) return;
    const int head = kvHead_ * a_.groupSize + row;
    const SoftmaxEnd end(a_.variant, head, most, sum);
    if (rank_ == 0 && lane_ < 4) end.store(a_.variant, sequence_, head);
    const int64_t at = sequence_ * a_.out.tokenStride + int64_t{head} * kDim + dim;
    storeFloat(a_.out.data, kType, at, first * end.factor);
    storeFloat(a_.out.data, kType, at + 8, second * end.factor);
  }

  __device__ __forceinline__ int sliceOf(int i) const { return rank_ + kRanks * (warp_ + kAdders * i); }
  __device__ __forceinline__ uint32_t slotAt(int slot) const {
    return ptx::sharedAddress(shared_) + static_cast<uint32_t>(warp_ * P::kWarpBytes + slot * P::kSliceBytes);
  }
  __device__ __forceinline__ uint32_t barrier(int slot) const {
    return ptx::sharedAddress(shared_) + static_cast<uint32_t>(P::kBarriersAt + (warp_ * kSlots + slot) * 8);
  }
  __device__ __forceinline__ float2* angles() const { return reinterpret_cast<float2*>(shared_ + P::kAnglesAt); }
  __device__ __forceinline__ float4* states(int warp) const {
    return reinterpret_cast<float4*>(shared_ + warp * P::kWarpBytes) + lane_;
  }
  __device__ __forceinline__ float4* inbox(int rank) const {
    return reinterpret_cast<float4*>(shared_ + P::kInboxAt) + rank * 64 + lane_;
  }

  const AttendArguments& a_;
  const CUtensorMap* const map_;
  uint8_t* const shared_;
  const int warp_ = static_cast<int>(threadIdx.x) / 32, lane_ = static_cast<int>(threadIdx.x) % 32;
  const int rank_ = static_cast<int>(blockIdx.x), kvHead_ = static_cast<int>(blockIdx.y);
  const int sequence_ = static_cast<int>(blockIdx.z);
  int ahead_[kSlots];  // blocks of the warp's first slices where the sequence's first key is the cache's
  int end_, first_, firstSlice_, slices_;
  int64_t cacheSlot_;  // where the block writes the key and the value; negative: another block does, or none
};

template <DType kType, int kDim>
__global__ void __launch_bounds__(kAttendThreads)
    rowAttentionKernel(const __grid_constant__ AttendArguments a, const __grid_constant__ CUtensorMap map) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  extern __shared__ uint8_t unaligned[];
  uint8_t* const shared = unaligned + (1024 - ptx::sharedAddress(unaligned) % 1024) % 1024;
  if (threadIdx.x == 0) ptx::letSuccessorsBegin();
  RowAttention<kType, kDim>(a, &map, shared).run();
#endif
}

}  // namespace octavo::cuda::rows
