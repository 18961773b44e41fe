#include "cuda/attention/mla.h"

#include "cuda/device/alignment.h"

namespace octavo::cuda {
namespace {

/** The line of tiles (mla_schedule.cuh) is counted in 32 bits; sequences that share blocks could exceed them. */
bool fitsLine(const LatentAttention& a, const LatentScratchLayout& layout) {
  constexpr int64_t kSmallestTile = 32;
  const int64_t tiles = ceilDivide(a.batch.maxContextLength, kSmallestTile);
  return tiles * a.batch.sequences * layout.tiles < int64_t{1} << 31;
}

/** Hopper, one 16-bit dtype, alignment, blocks of whole tiles, a scratch whose limits hold the batch. */
bool canDecode(const LatentAttention& a, const LatentScratchLayout& layout, const DeviceTraits& traits) {
  return traits.architecture >= 90 && a.scratch.data != nullptr && layout.bytes > 0 &&
         a.batch.sequences <= a.scratch.maxSequences && a.batch.maxContextLength <= a.scratch.maxContextLength &&
         fitsLine(a, layout) && a.query.dtype == a.cache.dtype && a.out.dtype == a.cache.dtype &&
         a.cache.blockSize % 32 == 0 && isChunked(a.query) && isChunked(a.out) &&
         isChunked(a.cache.data, a.cache.width, 0) && a.cache.blocks * a.cache.layers < int64_t{1} << 31;
}

}  // namespace

void launchLatentAttention(const LatentAttention& attention, const DeviceTraits& traits, cudaStream_t stream) {
  const AttentionBatch& batch = attention.batch;
  if (batch.sequences == 0 || batch.tokens == 0) return;
  const LatentShape shape{attention.cache.dtype, attention.query.heads, attention.out.dim, attention.cache.width};
  const LatentScratchLayout layout(shape, attention.scratch.maxSequences, attention.scratch.maxContextLength);
  if (!canDecode(attention, layout, traits)) return launchPlainLatentAttention(attention, 0, stream);
  // Where all sequences have one query token, one kernel has them all.
  const bool hasWide = canDecodeLatentsWide(attention), single = batch.maxQueryLength == 1;
  const bool many = attention.query.heads >= LatentScratchLayout::kFewestWideRows;
  if (hasWide && (many || !single)) launchWideLatentDecode(attention, layout, traits, stream);
  if (!hasWide || !many) launchLatentDecode(attention, layout, hasWide, traits, stream);
  constexpr int32_t kDecodes = LatentScratchLayout::kMostQueries;
  if (batch.maxQueryLength > kDecodes) launchPlainLatentAttention(attention, kDecodes, stream);
}

void launchExpandedAttention(const ExpandedAttention& attention, const DeviceTraits& traits, cudaStream_t stream) {
  if (attention.batch.sequences == 0 || attention.batch.tokens == 0) return;
  if (canPrefillExpanded(attention, traits)) return launchExpandedPrefill(attention, traits, stream);
  launchPlainExpandedAttention(attention, stream);
}

}  // namespace octavo::cuda
