#include "cuda/attention/attention.h"

#include "cuda/attention/batch_bounds.h"

namespace octavo::cuda {

void launchPagedAttention(const PagedAttention& attention, const DeviceTraits& traits, cudaStream_t stream) {
  const AttentionBatch& batch = attention.batch;
  if (batch.sequences == 0 || batch.tokens == 0) return;
  const bool onTensorCores = canPrefillOnTensorCores(attention);
  const bool splits = onTensorCores && canSplitDecode(attention, traits);
  const int32_t mostDecode = splits ? mostSplitTokens(attention, traits) : 1;
  if (onTensorCores && batch.maxQueryLength > mostDecode) {
    PagedAttention prefill = attention;
    prefill.leastPrefill = mostDecode + 1;
    if (canPrefillWide(prefill, traits)) launchWidePrefill(prefill, traits, stream);
    else launchPrefillAttention(prefill, stream);
    if (!mayHave(batch, mostDecode)) return;
  }
  // Another batch without a single decode costs launches whose blocks return at once.
  if (splits) return launchSplitDecode(attention, traits, stream);
  launchDecodeAttention(attention, batch.maxQueryLength > 1 && !onTensorCores, traits, stream);
}

}  // namespace octavo::cuda
