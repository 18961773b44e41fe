#include "cuda/fused/row_attention.cuh"

#include "cuda/device/early_launch.h"
#include "cuda/device/shared_memory.h"
#include "cuda/device/tensor_map.h"
#include "cuda/fused/fused.h"

namespace octavo::cuda {
namespace {

template <DType kType, int kDim>
void launch(const rows::AttendArguments& a, const CUtensorMap& map, cudaStream_t stream) {
  constexpr auto kKernel = rows::rowAttentionKernel<kType, kDim>;
  allowSharedMemory<rows::rowAttentionKernel<kType, kDim>>(rows::AttendPlace<kDim>::kBytes);
  preferSharedMemory<rows::rowAttentionKernel<kType, kDim>>();
  const dim3 blocks(rows::kRanks, static_cast<unsigned>(a.cache.kvHeads), static_cast<unsigned>(a.batch.sequences));
  launchEarly(kKernel, {blocks, dim3(rows::kAttendThreads), rows::AttendPlace<kDim>::kBytes, stream, rows::kRanks}, "rowAttention", a, map);
}

int log2Of(int value) {
  int log = 0;
  while ((1 << log) < value) ++log;
  return log;
}

}  // namespace

bool canAttendRows(const PagedAttention& attention, const RopeWrite& step, const DeviceTraits& traits) {
  const KvCacheView& cache = attention.cache;
  const AttentionBatch& batch = attention.batch;
  return traits.architecture >= 90 && batch.sequences <= kMostAttendedRows && batch.tokens == batch.sequences &&
         batch.maxQueryLength == 1 && dtypeBytes(cache.dtype) == 2 && isFloat(cache.dtype) &&
         step.query.dtype == cache.dtype && attention.out.dtype == cache.dtype &&
         (cache.headDim == 64 || cache.headDim == 128) && cache.blockSize % split::kSliceKeys == 0 &&
         step.query.heads <= rows::kMostRows * cache.kvHeads && step.query.heads % cache.kvHeads == 0;
}

void launchAttendRows(const PagedAttention& attention, const RopeWrite& step, cudaStream_t stream) {
  const KvCacheView& cache = attention.cache;
  const AttentionVariant& variant = attention.variant;
  const rows::AttendArguments a{CacheLayout(cache, attention.layer),
                    step,
                    attention.out,
                    attention.batch,
                    Variant(variant, cache, step.query.heads),
                    Variant::scoreScale(variant, cache, attention.scale),
                    variant.window,
                    log2Of(cache.blockSize / split::kSliceKeys),
                    step.query.heads / cache.kvHeads,
                    attention.layer,
                    cache.layers * 2};
  const CUtensorMap map = cacheMapOf(cache, split::kSliceKeys);
  const bool isBf16 = cache.dtype == DType::kBF16, isWide = cache.headDim == 128;
  if (isBf16 && isWide) launch<DType::kBF16, 128>(a, map, stream);
  else if (isBf16) launch<DType::kBF16, 64>(a, map, stream);
  else if (isWide) launch<DType::kF16, 128>(a, map, stream);
  else launch<DType::kF16, 64>(a, map, stream);
}

}  // namespace octavo::cuda
