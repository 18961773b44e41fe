#include "cuda/attention/prefill.cuh"

namespace octavo::cuda {

void prefill::launchFloats(const Arguments& a, cudaStream_t stream) {
  if (a.query.dtype == DType::kBF16) launchDim<DType::kBF16, DType::kF32>(a, stream);
  else launchDim<DType::kF16, DType::kF32>(a, stream);
}

bool canPrefillOnTensorCores(const PagedAttention& attention) {
  const KvCacheView& cache = attention.cache;
  return dtypeBytes(attention.query.dtype) == 2 && (isCode(cache.dtype) || attention.query.dtype == cache.dtype) &&
         isChunked(attention.query) && isChunked(cache.data, cache.headDim, 0) && attention.scale > 0;
}

void launchPrefillAttention(const PagedAttention& attention, cudaStream_t stream) {
  const Heads& out = attention.out;
  const KvCacheView& cache = attention.cache;
  const prefill::Arguments a{out,
                             attention.query,
                             CacheLayout(cache, attention.layer),
                             attention.batch,
                             prefillVariant(attention),
                             Variant::scoreScale(attention.variant, cache, attention.scale),
                             attention.variant.window,
                             attention.query.heads / cache.kvHeads,
                             dtypeBytes(out.dtype) == 2 && isChunked(out),
                             attention.leastPrefill};
  if (cache.dtype == DType::kE4M3) prefill::launchE4m3(a, stream);
  else if (cache.dtype == DType::kI8) prefill::launchInt8(a, stream);
  else prefill::launchFloats(a, stream);
}

}  // namespace octavo::cuda
