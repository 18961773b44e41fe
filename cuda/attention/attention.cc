#include "cuda/attention/attention.h"

namespace octavo::cuda {

void launchPagedAttention(const PagedAttention& attention, const DeviceTraits& traits, cudaStream_t stream) {
  if (attention.batch.sequences == 0 || attention.batch.tokens == 0) return;
  bool hasPrefill = attention.batch.maxQueryLength > 1;
  bool prefills = hasPrefill && canPrefillOnTensorCores(attention);
  if (prefills && canPrefillWide(attention, traits)) launchWidePrefill(attention, traits, stream);
  else if (prefills) launchPrefillAttention(attention, stream);
  // A batch without a single decode costs one launch whose blocks return at once.
  if (canPrefillOnTensorCores(attention) && canSplitDecode(attention)) {
    return launchSplitDecode(attention, traits, stream);
  }
  launchDecodeAttention(attention, hasPrefill && !prefills, traits, stream);
}

}  // namespace octavo::cuda
