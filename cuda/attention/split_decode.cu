#include <algorithm>

#include "cuda/attention/split_launch.cuh"
#include "cuda/device/alignment.h"
#include "ops/attention_scratch.h"

namespace octavo::cuda {
namespace {

constexpr float kLog2E = 1.4426950408889634f;

static_assert(split::kMaxChunks == AttentionScratchLayout::kMostParts);
static_assert(split::Ring<64, true>::kWarps == AttentionScratchLayout::warps(64));
static_assert(split::Ring<128, true>::kWarps == AttentionScratchLayout::warps(128));

AttentionScratchLayout layoutOf(const PagedAttention& attention) {
  const KvCacheView& cache = attention.cache;
  return {{cache.dtype, attention.query.heads, cache.kvHeads, cache.headDim},
          attention.scratch.maxSequences,
          attention.scratch.maxContextLength};
}

/** The line of slices (split_schedule.cuh) is counted in 32 bits; sequences that share blocks could exceed them. */
bool fitsLine(const PagedAttention& attention, const AttentionScratchLayout& layout) {
  const int64_t slices = ceilDivide(attention.batch.maxContextLength, split::kSliceKeys);
  return slices * attention.batch.sequences * attention.cache.kvHeads * layout.shares < (int64_t{1} << 31);
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

void launchSplitDecode(const PagedAttention& attention, const DeviceTraits& traits, cudaStream_t stream) {
  const AttentionScratchLayout layout = layoutOf(attention);
  char* const scratch = static_cast<char*>(attention.scratch.data) + AttentionScratchLayout::kItemBytes;
  const split::Arguments a{attention.out,
                           attention.query,
                           CacheLayout(attention.cache, attention.layer),
                           attention.batch,
                           attention.scale * kLog2E,
                           attention.window,
                           log2Of(attention.cache.blockSize / split::kSliceKeys),
                           attention.query.heads / attention.cache.kvHeads,
                           layout.headShare,
                           layout.shares,
                           reinterpret_cast<int32_t*>(scratch),
                           reinterpret_cast<float4*>(scratch + layout.counterBytes),
                           layout.slots,
                           attention.layer,
                           attention.cache.layers * 2};
  const int blocks = std::min(traits.multiprocessors, AttentionScratchLayout::kMultiprocessors);
  if (attention.cache.dtype == DType::kBF16) split::launchBf16(a, attention.cache, traits.architecture, blocks, stream);
  else split::launchF16(a, attention.cache, traits.architecture, blocks, stream);
}

}  // namespace octavo::cuda
