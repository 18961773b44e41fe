#include "cuda/attention/wide_prefill.cuh"

namespace octavo::cuda {
namespace wide {
namespace {

template <DType kType>
void launchType(const PagedAttention& attention, const DeviceTraits& traits, cudaStream_t stream) {
  switch (attention.cache.headDim) {
    case 64: return launch<Shape<kType, 64, 3, 128, 2, 2>>(attention, traits, stream);
    case 128: return launch<Shape<kType, 128, 2, 128, 2, 2>>(attention, traits, stream);
    default: return launch<Shape<kType, 256, 2, 80, 2, 1>>(attention, traits, stream);
  }
}

}  // namespace
}  // namespace wide

bool canPrefillWide(const PagedAttention& attention, const DeviceTraits& traits) {
  const KvCacheView& cache = attention.cache;
  const int64_t rows = cache.blocks * cache.layers * 2 * cache.kvHeads * cache.blockSize;
  const bool isMade = cache.headDim == 64 || cache.headDim == 128 || cache.headDim == 256;
  return traits.architecture >= 90 && canPrefillOnTensorCores(attention) && isMade && rows < int64_t{1} << 31;
}

void launchWidePrefill(const PagedAttention& attention, const DeviceTraits& traits, cudaStream_t stream) {
  if (attention.cache.dtype == DType::kE4M3) wide::launchE4m3(attention, traits, stream);
  else if (attention.cache.dtype == DType::kI8) wide::launchInt8(attention, traits, stream);
  else if (attention.cache.dtype == DType::kBF16) wide::launchType<DType::kBF16>(attention, traits, stream);
  else wide::launchType<DType::kF16>(attention, traits, stream);
}

}  // namespace octavo::cuda
