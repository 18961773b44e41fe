#include <algorithm>

#include "cuda/attention/decode_launch.cuh"
#include "cuda/device/alignment.h"

namespace octavo::cuda {
namespace {

// A cluster an item pays where one block an item would leave multiprocessors idle and the keys are many.
bool isClustered(const decode::Arguments& a, int64_t items, const DeviceTraits& traits) {
  int64_t blocks = items * a.query.heads / std::min(a.groupSize, 4);
  return traits.architecture >= 90 && a.batch.maxContextLength > 256 && blocks < 4ll * traits.multiprocessors;
}

}  // namespace

void launchDecodeAttention(const PagedAttention& attention, bool everyToken, const DeviceTraits& traits,
                           cudaStream_t stream) {
  decode::Arguments a{attention.out,
                      attention.query,
                      CacheLayout(attention.cache, attention.layer),
                      attention.batch,
                      Variant(attention.variant, attention.cache, attention.query.heads),
                      Variant::scoreScale(attention.variant, attention.cache, attention.scale),
                      attention.variant.window,
                      attention.query.heads / attention.cache.kvHeads,
                      isChunked(attention.cache.data, attention.cache.headDim, 0),
                      everyToken};
  int64_t items = everyToken ? attention.batch.tokens : attention.batch.sequences;
  bool clustered = isClustered(a, items, traits);
  if (isCode(a.cache.dtype)) decode::launchCodes(a, items, clustered, stream);
  else if (a.cache.dtype == DType::kF32) decode::launchF32(a, items, clustered, stream);
  else if (a.cache.dtype == DType::kBF16) decode::launchBf16(a, items, clustered, stream);
  else decode::launchF16(a, items, clustered, stream);
}

}  // namespace octavo::cuda
