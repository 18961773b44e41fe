#include <algorithm>

#include "cuda/attention/batch_bounds.h"
#include "cuda/attention/split_launch.cuh"
#include "cuda/device/alignment.h"
#include "ops/attention_scratch.h"

namespace octavo::cuda {
namespace {

constexpr float kLog2E = 1.4426950408889634f;

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

int log2Of(int value) {
  int log = 0;
  while ((1 << log) < value) ++log;
  return log;
}

}  // namespace

bool canSplitDecode(const PagedAttention& attention) {
  const AttentionScratch& scratch = attention.scratch;
  const AttentionScratchLayout layout = layoutOf(attention);
  return scratch.data != nullptr && attention.batch.sequences <= scratch.maxSequences &&
         attention.batch.maxContextLength <= scratch.maxContextLength && layout.bytes > 0 &&
         fitsLine(attention, layout) && attention.query.dtype == attention.cache.dtype &&
         attention.out.dtype == attention.cache.dtype && isChunked(attention.query) &&
         isChunked(attention.cache.data, attention.cache.headDim, 0);
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
                     attention.scale * kLog2E,
                     attention.window,
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
  const bool isBf16 = attention.cache.dtype == DType::kBF16;
  // Where the lengths are not known here a launch may find nothing to do: its blocks return at once.
  if (mayHave(batch, 1)) isBf16 ? split::launchBf16(a, to) : split::launchF16(a, to);
  if (batch.maxQueryLength == 1 || mostSplitTokens(attention, traits) == 1) return;
  a.headShare = layout.fewHeadShare;
  a.shares = layout.fewShares;
  a.rows = a.headShare * std::min(batch.maxQueryLength, split::kMostTokens);
  a.capacity = layout.fewCapacity;
  isBf16 ? split::launchFewBf16(a, to) : split::launchFewF16(a, to);
}

}  // namespace octavo::cuda
