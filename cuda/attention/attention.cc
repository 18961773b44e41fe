#include "cuda/attention/attention.h"

namespace octavo::cuda {
namespace {

/** Whether a sequence may have a single query token, as far as the host knows. */
bool mayDecode(const AttentionBatch& batch) {
  const int64_t others = (batch.sequences - 1) * int64_t{batch.maxQueryLength};
  return batch.tokens - others < 2;  // the fewest that the last one can have
}

}  // namespace

void launchPagedAttention(const PagedAttention& attention, const DeviceTraits& traits, cudaStream_t stream) {
  if (attention.batch.sequences == 0 || attention.batch.tokens == 0) return;
  bool hasPrefill = attention.batch.maxQueryLength > 1;
  bool prefills = hasPrefill && canPrefillOnTensorCores(attention);
  if (prefills && canPrefillWide(attention, traits)) launchWidePrefill(attention, traits, stream);
  else if (prefills) launchPrefillAttention(attention, stream);
  if (prefills && !mayDecode(attention.batch)) return;
  // Another batch without a single decode costs one launch whose blocks return at once.
  if (canPrefillOnTensorCores(attention) && canSplitDecode(attention)) {
    return launchSplitDecode(attention, traits, stream);
  }
  launchDecodeAttention(attention, hasPrefill && !prefills, traits, stream);
}

}  // namespace octavo::cuda
