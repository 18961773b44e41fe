#include <algorithm>

#include "cuda/attention/batch_bounds.h"
#include "cuda/attention/split_launch.cuh"
#include "cuda/device/alignment.h"
#include "ops/attention_scratch.h"

namespace octavo::cuda {
namespace {

static_assert(split::kMostTokens == kMostDecodeTokens);
static_assert(split::kSliceKeys == AttentionScratchLayout::kSliceKeys);
static_assert(split::kQuad == AttentionScratchLayout::kQuadChunks);

AttentionScratchLayout layoutOf(const PagedAttention& attention) {
  const KvCacheView& cache = attention.cache;
  return {{cache.dtype, attention.query.heads, cache.kvHeads, cache.headDim},
          attention.scratch.maxSequences,
          attention.scratch.maxContextLength};
}

/** The line of slices (split_schedule.cuh) is counted in 32 bits; sequences that share blocks could exceed them. */
bool fitsLine(const PagedAttention& attention, const AttentionScratchLayout& layout) {
  const int64_t slices = ceilDivide(attention.batch.maxContextLength, split::kSliceKeys);
  const int64_t items = int64_t{attention.cache.kvHeads} * std::max(layout.shares, layout.fewShares);
  return slices * attention.batch.sequences * items < (int64_t{1} << 31);
}

/** Whether every even element of a head is the first of an aligned pair. */
bool isPaired(const Heads& heads) {
  return reinterpret_cast<uintptr_t>(heads.data) % 4 == 0 && heads.tokenStride % 2 == 0;
}

/** The launch for a cache's dtype. */
auto launchFor(DType dtype, bool few) {
  switch (dtype) {
    case DType::kBF16: return few ? split::launchFewBf16 : split::launchBf16;
    case DType::kF16: return few ? split::launchFewF16 : split::launchF16;
    case DType::kE4M3: return few ? split::launchFewE4m3 : split::launchE4m3;
    default: return few ? split::launchFewInt8 : split::launchInt8;
  }
}

int log2Of(int value) {
  int log = 0;
  while ((1 << log) < value) ++log;
  return log;
}

}  // namespace

bool canSplitDecode(const PagedAttention& attention, const DeviceTraits& traits) {
  const DType cached = attention.cache.dtype, type = attention.query.dtype;
  const bool fits = isCode(cached) ? traits.architecture >= 90 && dtypeBytes(type) == 2 : type == cached;
  const AttentionScratch& scratch = attention.scratch;
  const AttentionScratchLayout layout = layoutOf(attention);
  return scratch.data != nullptr && attention.batch.sequences <= scratch.maxSequences &&
         attention.batch.maxContextLength <= scratch.maxContextLength && layout.bytes > 0 &&
         fitsLine(attention, layout) && fits && attention.out.dtype == type && isChunked(attention.query) &&
         isChunked(attention.cache.data, attention.cache.headDim, 0) && (!isCode(cached) || isPaired(attention.out));
}

int32_t mostSplitTokens(const PagedAttention& attention, const DeviceTraits& traits) {
  // Four tiles of rows fit beside swizzled slices alone, which tensor copies bring.
  const bool hasKernel = traits.architecture >= 90 ||
                         AttentionScratchLayout::tilesFor(layoutOf(attention).fewHeadShare * kMostDecodeTokens) <= 2;
  return hasKernel ? kMostDecodeTokens : 1;
}

void launchSplitDecode(const PagedAttention& attention, const DeviceTraits& traits, cudaStream_t stream) {
  const AttentionScratchLayout layout = layoutOf(attention);
  const AttentionBatch& batch = attention.batch;
  char* const scratch = static_cast<char*>(attention.scratch.data);
  char* const ticket = scratch + AttentionScratchLayout::kItemBytes;
  const split::Launch to{attention.cache, traits.architecture,
                         std::min(traits.multiprocessors, AttentionScratchLayout::kMultiprocessors), stream};
  split::Arguments a{attention.out,
                     attention.query,
                     CacheLayout(attention.cache, attention.layer),
                     batch,
                     Variant(attention.variant, attention.cache, attention.query.heads),
                     Variant::scoreScale(attention.variant, attention.cache, attention.scale),
                     attention.variant.window,
                     log2Of(attention.cache.blockSize / split::kSliceKeys),
                     attention.query.heads / attention.cache.kvHeads,
                     layout.headShare,
                     layout.shares,
                     layout.headShare,
                     reinterpret_cast<int32_t*>(ticket),
                     reinterpret_cast<int32_t*>(ticket + AttentionScratchLayout::kTicketBytes),
                     reinterpret_cast<int32_t*>(scratch + layout.groupCounters),
                     reinterpret_cast<float4*>(scratch + layout.counterBytes),
                     layout.capacity,
                     attention.layer,
                     attention.cache.layers * 2};
  // Where no sequence has more than one token the kernels take its number for that token's: unless some have none.
  if (batch.tokens != batch.sequences) a.batch.maxQueryLength = std::max(batch.maxQueryLength, 2);
  // Where the lengths are not known here a launch may find nothing to do: its blocks return at once.
  if (mayHave(batch, 1)) launchFor(attention.cache.dtype, false)(a, to);
  if (batch.maxQueryLength == 1 || mostSplitTokens(attention, traits) == 1) return;
  a.headShare = layout.fewHeadShare;
  a.shares = layout.fewShares;
  a.rows = a.headShare * std::min(batch.maxQueryLength, split::kMostTokens);
  a.capacity = layout.fewCapacity;
  launchFor(attention.cache.dtype, true)(a, to);
}

}  // namespace octavo::cuda
