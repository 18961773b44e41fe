// Attention of prompt chunks on Hopper (Shah et al., FlashAttention-3, 2024): wgmma, the tensor memory accelerator and
// warp specialisation over the paged cache (sm_90a).
//
// A block takes 128 query tokens of a head (192 of dim 64), a warpgroup 64 of them; four warps bring tiles of keys and
// values, a box a cache block, two tiles of each ahead. A warpgroup multiplies the next tile's scores and this tile's
// values while it turns scores to weights, and warpgroups issue their products in turns. Weights are rounded to 16 bits
// for the second product, their sum is not. Tiles are cut at multiples of their size from key 0 and taken in ascending
// order: a row's result depends on its position and keys alone. Blocks take items, longest first, as they come to them.
// Codes of a cache become fp16 on their way to shared memory (wide_prefill_codes.cuh); queries of bf16 follow them
// (wide_prefill_query.cuh).
//
// Measured on an H200, bf16, causal half counted, blocks of 32, 2026-11-30, TFLOP/s (mma.sync of prefill.cu beside it):
// 8192 tokens, 64 query and 8 KV heads of 128 648 (305), with blocks of 16 586; 32 and 32 heads 619 (276); 32768 tokens
// 624 (330); the last 2048 of 34816 540; 1024 tokens of 32 and 8 heads 25.2 µs (55.5); 16384 tokens of dim 64 504
// (257), of 32 and 8 heads of 256 631 (274). The long ones run at the card's power limit, 1.45 GHz and below, with the
// tensor cores at work 79 % of the time (dim 256: 86 %, 64: 57 %). 168 registers at the launch (dim 64: 128), then 224
// and 56 (160 and 32; of codes 216 and 72); of dim 64 those that bring tiles spill 8 bytes, of codes 8 and, of dim 256,
// some 64. Of 8192 tokens, 64 and 8 heads of 128, 2026-12-01: e4m3 468, int8 with a scale a token 345; while codes became
// bf16, and came when they were needed, 268 and 216.
#pragma once

#include <algorithm>
#include <type_traits>

#include "cuda/attention/attention.h"
#include "cuda/attention/prefill_softmax.cuh"
#include "cuda/attention/wide_prefill_query.cuh"
#include "cuda/attention/wide_prefill_work.cuh"
#include "cuda/device/alignment.h"
#include "cuda/device/shared_memory.h"
#include "cuda/device/tensor_map.h"
#include "cuda/ptx/named_barriers.cuh"
#include "cuda/ptx/warp_mma.cuh"
#include "cuda/ptx/wgmma_registers.cuh"
#include "ops/attention_scratch.h"

namespace octavo::cuda::wide {

/** The same in all lanes, and known to the compiler as such. */
__device__ __forceinline__ uint32_t uniform(uint32_t x) { return __shfl_sync(0xffffffffu, x, 0); }

/** scores = Q · Kᵀ of a warpgroup, left under way. */
template <typename S>
__device__ __forceinline__ void startScores(float (&scores)[S::kKeys / 2], uint32_t query, uint32_t keys) {
  ptx::fenceProducts();
#pragma unroll
  for (int step = 0; step < S::kDim / 16; ++step) {
    int slab = step / 4, within = step % 4;
    uint64_t left = ptx::tileDescriptor(query + slab * S::kQuerySlab) + 2 * within;
    uint64_t right = ptx::tileDescriptor(keys + slab * S::kKeySlab) + 2 * within;
    ptx::multiplyTiles<S::kType>(scores, left, right, step != 0);
  }
  ptx::commitProducts();
}

/** out (+)= weights · V of a warpgroup, left under way. */
template <typename S>
__device__ __forceinline__ void startValues(float (&out)[S::kDim / 2], const uint32_t (&weights)[S::kKeys / 4],
                                            uint32_t values, bool accumulates) {
  ptx::fenceProducts();
#pragma unroll
  for (int step = 0; step < S::kKeys / 16; ++step) {
    uint64_t right = ptx::transposedDescriptor(values + step * 16 * kRowBytes, S::kKeySlab);
    ptx::multiplyRegisters<S::kType>(out, weights + 4 * step, right, accumulates || step != 0);
  }
  ptx::commitProducts();
}

/** Values past the last key may be NaN in the cache; 0 · NaN would spoil a row. By all warpgroups that multiply. */
template <typename S>
__device__ __forceinline__ void clearValues(uint32_t values, int firstRow) {
  int thread = static_cast<int>(threadIdx.x) - 128;
  int chunks = (S::kKeys - firstRow) * (kRowBytes / 16);
#pragma unroll
  for (int slab = 0; slab < S::kSlabs; ++slab) {
    uint32_t from = values + slab * S::kKeySlab + firstRow * kRowBytes;
    for (int i = thread; i < chunks; i += 128 * S::kGroups) ptx::storeZeros(from + i * 16);
  }
  ptx::fenceForCopies();
  ptx::meet(1, 128 * S::kGroups);
}

template <typename S>
__device__ __forceinline__ void storeRows(const float (&out)[S::kDim / 2], const Softmax& softmax, const Arguments& a,
                                          const PrefillWork& work, int row) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const SoftmaxEnd end = endRow(softmax, r, a.variant, work.head);
    const float scale = end.factor;
    if (row + 8 * r >= work.rows) continue;
    if (threadIdx.x % 4 == 0) end.store(a.variant, work.first + row + 8 * r, work.head);
    int64_t to = static_cast<int64_t>(work.first + row + 8 * r) * a.out.tokenStride +
                 static_cast<int64_t>(work.head) * S::kDim + threadIdx.x % 4 * 2;
#pragma unroll
    for (int i = 0; i < S::kDim / 8; ++i) {
      float low = out[i * 4 + 2 * r] * scale, high = out[i * 4 + 2 * r + 1] * scale;
      storePair(a.out.data, a.out.dtype, to + i * 8, low, high, a.storesPairs);
    }
  }
}

/** Warpgroups issue products in turns, so that the softmax of one runs under the products of another. */
template <int kGroups>
class Turns {
 public:
  __device__ __forceinline__ explicit Turns(int group) : mine_(2 + group), next_(2 + (group + 1) % kGroups) {
    if (group == kGroups - 1) pass();
  }
  __device__ __forceinline__ void await() const { ptx::meet(mine_, 256); }
  __device__ __forceinline__ void pass() const { ptx::announce(next_, 256); }

 private:
  int mine_, next_;
};

/** A warpgroup's share of every item of the block. */
template <typename S>
class Consumer {
 public:
  __device__ __forceinline__ Consumer(const Arguments& a, const Shared<S>& shared)
      : a_(a), shared_(shared), group_(static_cast<int>(uniform(threadIdx.x / 128)) - 1), turns_(group_) {}

  __device__ __forceinline__ void run() {
    Slot<S::kQueryStages> query;
    uint32_t parity = 0;
    for (;;) {
      const PrefillWork work = takeWork<S>(shared_, parity);
      if (work.rows == 0) return;
      ptx::waitBarrier(shared_.queryFull + query.index * 8, query.parity);
      query_ = uniform(shared_.query + query.index * S::kQueryBytes + group_ * S::kSlabs * S::kQuerySlab);
      if constexpr (S::kCoded) castQuery();
      attend(work, shared_.queryEmpty + query.index * 8);
      query.advance();
    }
  }

 private:
  using Weights = uint32_t[S::kKeys / 4];

  /** Queries of bf16 become fp16, as codes have. */
  __device__ __forceinline__ void castQuery() {
    if (a_.castsQueries) {
      rowScales_ = castQueries<S>(query_, a_.scaleLog2);
      ptx::meet(2 + S::kGroups + group_, 128);
    } else {
      rowScales_.of[0] = rowScales_.of[1] = a_.scaleLog2;
    }
  }
  __device__ __forceinline__ auto scaleLog2() const {
    if constexpr (S::kCoded) return rowScales_;
    else return a_.scaleLog2;
  }

  __device__ __forceinline__ void attend(const PrefillWork& work, uint32_t queryEmpty) {
    softmax_ = Softmax();
    position_ = work.position + group_ * kGroupQueries;
    tile_ = work.firstTile;
    endTile_ = work.endTile;
    accumulates_ = false;
    Weights weights;
    begin(weights);
    // Tiles [plain, late) are seen by all rows of the warpgroup.
    int late = min(endTile_, (position_ + 1) / S::kKeys);
    int plain = a_.window > 0 ? max(0, position_ + kGroupQueries - a_.window + S::kKeys - 1) / S::kKeys : 0;
    while (tile_ < endTile_) {
      if (tile_ >= plain) while (tile_ < late) step<false>(weights);
      if (tile_ < endTile_) step<true>(weights);
    }
    release(queryEmpty);
    finish(work, weights);
  }

  /** The first tile's weights. */
  __device__ __forceinline__ void begin(Weights& weights) {
    awaitKeys();
    startScores<S>(scores_, query_, keyTile());
    ptx::waitProducts<0>();
    ptx::pinRegisters(scores_);
    releaseKeys();
    finishScores();
    mask();
    rebase(softmax_, scores_, scaleLog2());
    weighScores();
    packWeights<S::kType>(weights, scores_);
    if (++tile_ < endTile_) awaitKeys();
  }

  /** The next tile's weights, while those of the tile before it meet their values. */
  template <bool kMasks>
  __device__ __forceinline__ void step(Weights& weights) {
    uint32_t keys = keyTile(), values = valueTile();
    turns_.await();
    startScores<S>(scores_, query_, keys);
    awaitValues();
    startValues<S>(out_, weights, values, accumulates_);
    accumulates_ = true;
    turns_.pass();
    ptx::waitProducts<1>();
    ptx::pinRegisters(scores_);
    releaseKeys();
    finishScores();
    if constexpr (kMasks) mask();
    if (__builtin_expect(rises(softmax_, scores_, scaleLog2()), 0)) {
      const Correction correction = rebase(softmax_, scores_, scaleLog2());
      ptx::waitProducts<0>();
      ptx::pinRegisters(out_);
      correction.apply(out_);
    }
    weighScores();
    ptx::pinRegisters(scores_);
    // Here also because it is a branch: in straight code the compiler waits for the values before it weighs.
    if (++tile_ < endTile_) awaitKeys();
    ptx::waitProducts<0>();
    ptx::pinRegisters(out_);
    releaseValues();
    packWeights<S::kType>(weights, scores_);
  }

  /** The last tile's values. */
  __device__ __forceinline__ void finish(const PrefillWork& work, const Weights& weights) {
    awaitValues();
    uint32_t values = valueTile();
    int filled = work.endKey() - (endTile_ - 1) * S::kKeys;
    if (filled < S::kKeys) clearValues<S>(values, filled);
    startValues<S>(out_, weights, values, accumulates_);
    ptx::waitProducts<0>();
    ptx::pinRegisters(out_);
    releaseValues();
    storeRows<S>(out_, softmax_, a_, work, group_ * kGroupQueries + row());
  }

  /** What comes between products and their softmax, which takes them with the scale of the query. */
  __device__ __forceinline__ void finishScores() {
    if (hasScales()) shared_.scales[scales_.index].multiplyKeys(scores_);
    if (a_.variant.cap > 0) capScores(scores_, a_.variant, scaleLog2());
    if (hasScales()) shared_.scales[scales_.index].addLogs(scores_, scaleLog2());
  }
  __device__ __forceinline__ void weighScores() {
    if (!hasScales()) return weigh(softmax_, scores_, scaleLog2());
    shared_.scales[scales_.index].weigh(softmax_, scores_, scaleLog2());
    scales_.advance();
  }
  __device__ __forceinline__ bool hasScales() const { return S::kCoded && a_.layout.hasScales(); }

  __device__ __forceinline__ void mask() {
    int firstKey = tile_ * S::kKeys;
    bool late = firstKey + S::kKeys - 1 > position_;
    bool early = a_.window > 0 && firstKey <= position_ + kGroupQueries - 1 - a_.window;
    if (late || early) maskScores(scores_, position_ + row(), firstKey, a_.window);
  }
  /** The lane's first row in its warpgroup. */
  __device__ __forceinline__ int row() const { return threadIdx.x / 32 % 4 * 16 + threadIdx.x % 32 / 4; }

  __device__ __forceinline__ uint32_t keyTile() const { return uniform(shared_.keys + keys_.index * S::kTileBytes); }
  __device__ __forceinline__ uint32_t valueTile() const {
    return uniform(shared_.values + values_.index * S::kTileBytes);
  }
  __device__ __forceinline__ void awaitKeys() const {
    ptx::waitBarrier(shared_.keysFull + keys_.index * 8, keys_.parity);
  }
  __device__ __forceinline__ void awaitValues() const {
    ptx::waitBarrier(shared_.valuesFull + values_.index * 8, values_.parity);
  }
  __device__ __forceinline__ void release(uint32_t empty) const {
    if (threadIdx.x % 32 == 0) ptx::arrive(empty);
  }
  __device__ __forceinline__ void releaseKeys() {
    release(shared_.keysEmpty + keys_.index * 8);
    keys_.advance();
  }
  __device__ __forceinline__ void releaseValues() {
    release(shared_.valuesEmpty + values_.index * 8);
    values_.advance();
  }

  const Arguments& a_;
  const Shared<S>& shared_;
  int group_;
  Turns<S::kGroups> turns_;
  Slot<S::kStages> keys_, values_;
  Slot<S::kStages + 1> scales_;
  uint32_t query_ = 0;
  int position_ = 0;  // of the warpgroup's first row
  int tile_ = 0, endTile_ = 0;
  bool accumulates_ = false;
  RowScales rowScales_;  // of codes
  Softmax softmax_;
  float out_[S::kDim / 2], scores_[S::kKeys / 2];
};

/** Registers of a thread that brings tiles, and of one that multiplies. */
template <typename S>
constexpr int kFewRegisters = S::kGroups == 3 ? 32 : S::kCoded ? 72 : 56;
template <typename S>
constexpr int kManyRegisters = S::kGroups == 3 ? 160 : S::kCoded ? 216 : 224;

template <typename S>
__global__ void __launch_bounds__(S::kThreads, 1) widePrefillKernel(const __grid_constant__ Arguments a) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ uint8_t bytes[];
  const Shared<S> shared(bytes, ptx::sharedAddress(bytes));
  if (threadIdx.x == 0) {
    ptx::prefetchTensorMap(&a.query);
    if (!S::kCoded) ptx::prefetchTensorMap(&a.cache);
    shared.initialise();
  }
  __syncthreads();
  if (threadIdx.x < 128) {
    ptx::lowerRegisters<kFewRegisters<S>>();
    if (threadIdx.x < 32) deal<S>(a, shared);
    else produce<S>(a, shared);
  } else {
    ptx::raiseRegisters<kManyRegisters<S>>();
    Consumer<S>(a, shared).run();
  }
#endif
}

/** By which blocks take items as they come to them; null where the caller gave no scratch. */
inline uint32_t* itemCounter(const PagedAttention& attention) {
  const AttentionScratch& scratch = attention.scratch;
  const KvCacheView& cache = attention.cache;
  const AttentionShape shape{cache.dtype, attention.query.heads, cache.kvHeads, cache.headDim};
  const bool hasCounter = AttentionScratchLayout(shape, scratch.maxSequences, scratch.maxContextLength).bytes > 0;
  return hasCounter ? static_cast<uint32_t*>(scratch.data) : nullptr;
}

template <typename S>
void launch(const PagedAttention& attention, const DeviceTraits& traits, cudaStream_t stream) {
  constexpr auto kKernel = widePrefillKernel<S>;
  allowSharedMemory<kKernel>(S::kBytes);
  const KvCacheView& cache = attention.cache;
  const Heads& query = attention.query;
  const int64_t rows = cache.blocks * cache.layers * 2 * cache.kvHeads * cache.blockSize;
  const int boxTokens = std::min(cache.blockSize, S::kKeys & -S::kKeys);  // boxes meet no edge of a block or tile
  const Arguments a{
      tensorMapOf({query.data, query.dtype, query.tokens, int64_t{query.heads} * S::kDim, query.tokenStride},
                  kGroupQueries),
      S::kCoded ? CUtensorMap{} : tensorMapOf({cache.data, cache.dtype, rows, S::kDim, S::kDim}, boxTokens),
      CacheLayout(cache, attention.layer),
      attention.out,
      attention.batch,
      prefillVariant(attention),
      Variant::scoreScale(attention.variant, cache, attention.scale),
      attention.variant.window,
      query.heads / cache.kvHeads,
      query.heads,
      cache.kvHeads,
      cache.blockSize,
      boxTokens,
      attention.layer,
      cache.layers,
      queryTiles<S::kQueries>(attention.batch) * query.heads,
      itemCounter(attention),
      S::kCoded && query.dtype == DType::kBF16,
      dtypeBytes(attention.out.dtype) == 2 && isChunked(attention.out),
      attention.leastPrefill};
  const int blocks = std::min(a.items, traits.multiprocessors);
  kKernel<<<blocks, S::kThreads, S::kBytes, stream>>>(a);
  checkLaunch("widePrefill");
}

/** Queries of either type meet codes as fp16. Codes leave the warps that bring them registers to hold them. */
template <DType kCode>
void launchCodeType(const PagedAttention& attention, const DeviceTraits& traits, cudaStream_t stream) {
  switch (attention.cache.headDim) {
    case 64: return launch<Shape<DType::kF16, 64, 2, 128, 2, 2, kCode>>(attention, traits, stream);
    case 128: return launch<Shape<DType::kF16, 128, 2, 128, 2, 2, kCode>>(attention, traits, stream);
    default: return launch<Shape<DType::kF16, 256, 2, 64, 2, 1, kCode>>(attention, traits, stream);
  }
}

/** One a translation unit, so that they compile side by side. */
void launchE4m3(const PagedAttention& attention, const DeviceTraits& traits, cudaStream_t stream);
void launchInt8(const PagedAttention& attention, const DeviceTraits& traits, cudaStream_t stream);

}  // namespace octavo::cuda::wide
