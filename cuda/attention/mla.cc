#include "cuda/attention/mla.h"

#include "ops/latent_scratch.h"

namespace octavo::cuda {

void launchLatentAttention(const LatentAttention& attention, const DeviceTraits& traits, cudaStream_t stream) {
  if (attention.batch.sequences == 0 || attention.batch.tokens == 0) return;
  if (!canDecodeLatents(attention, traits)) return launchPlainLatentAttention(attention, 0, stream);
  launchLatentDecode(attention, traits, stream);
  constexpr int32_t kDecodes = LatentScratchLayout::kMostQueries;
  if (attention.batch.maxQueryLength > kDecodes) launchPlainLatentAttention(attention, kDecodes, stream);
}

void launchExpandedAttention(const ExpandedAttention& attention, const DeviceTraits& traits, cudaStream_t stream) {
  if (attention.batch.sequences == 0 || attention.batch.tokens == 0) return;
  if (canPrefillExpanded(attention, traits)) return launchExpandedPrefill(attention, traits, stream);
  launchPlainExpandedAttention(attention, stream);
}

}  // namespace octavo::cuda
