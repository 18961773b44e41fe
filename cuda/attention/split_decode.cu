#include <algorithm>

#include "cuda/attention/split_launch.cuh"
#include "cuda/device/alignment.h"

namespace octavo::cuda {
namespace {

constexpr float kLog2E = 1.4426950408889634f;

bool isSplitDim(int32_t dim) {
  return dim == 64 || dim == 80 || dim == 96 || dim == 128 || dim == 192 || dim == 256;
}

/** Query heads of a KV head in one item: as few items as the kernel's columns allow, of equal size. */
int32_t headShare(int32_t groupSize, int32_t dim) {
  const int32_t most = groupSize > 8 && (dim == 64 || dim == 128) ? 16 : 8;
  const int32_t shares = static_cast<int32_t>(ceilDivide(groupSize, most));
  return static_cast<int32_t>(ceilDivide(groupSize, shares));
}

int64_t slotVectors(int32_t share, int32_t dim) {
  const int tiles = share > 8 ? 2 : 1;
  const int lanes = share >= 8 ? 32 : (share + 1) / 2 * 8;
  return static_cast<int64_t>(dim / 16 * tiles + tiles) * lanes;
}

/** Most chunks that any context up to a length is cut into; see split::chunkSlices. */
int32_t mostChunks(int32_t maxContextLength) {
  const int64_t slices = ceilDivide(maxContextLength, split::kSliceKeys);
  return static_cast<int32_t>(std::min<int64_t>(split::kMaxChunks, std::max<int64_t>(16, ceilDivide(slices, 16))));
}

/** Of the scratch: counters first, then the slots. */
size_t arrivalBytes(const AttentionShape& shape, int32_t maxSequences) {
  const int64_t share = headShare(shape.heads / shape.kvHeads, shape.headDim);
  const int64_t shares = ceilDivide(shape.heads / shape.kvHeads, share);
  return static_cast<size_t>(ceilDivide(maxSequences * shape.kvHeads * shares * 4, 256) * 256);
}

}  // namespace

size_t splitScratchBytes(const AttentionShape& shape, int32_t maxSequences, int32_t maxContextLength,
                         const DeviceTraits& traits) {
  if (shape.dtype == DType::kF32 || !isSplitDim(shape.headDim)) return 0;
  const int64_t warps = shape.headDim <= 64 ? split::Ring<64>::kWarps : split::Ring<128>::kWarps;
  const int32_t share = headShare(shape.heads / shape.kvHeads, shape.headDim);
  const int64_t slots = traits.multiprocessors * warps * mostChunks(maxContextLength);
  return arrivalBytes(shape, maxSequences) +
         static_cast<size_t>(slots * slotVectors(share, shape.headDim)) * sizeof(float4);
}

bool canSplitDecode(const PagedAttention& attention) {
  return attention.scratch.data != nullptr && attention.batch.sequences <= attention.scratch.maxSequences &&
         attention.batch.maxContextLength <= attention.scratch.maxContextLength &&
         isSplitDim(attention.cache.headDim) && attention.cache.dtype != DType::kF32 &&
         attention.query.dtype == attention.cache.dtype && isChunked(attention.cache.data, attention.cache.headDim, 0) &&
         reinterpret_cast<uintptr_t>(attention.query.data) % 4 == 0 && attention.query.tokenStride % 2 == 0;
}

void launchSplitDecode(const PagedAttention& attention, const DeviceTraits& traits, cudaStream_t stream) {
  const int32_t group = attention.query.heads / attention.cache.kvHeads;
  const int32_t share = headShare(group, attention.cache.headDim);
  const AttentionShape shape{attention.cache.dtype, attention.query.heads, attention.cache.kvHeads,
                             attention.cache.headDim};
  char* const scratch = static_cast<char*>(attention.scratch.data);
  const split::Arguments a{attention.out,
                           attention.query,
                           CacheLayout(attention.cache, attention.layer),
                           attention.batch,
                           attention.scale * kLog2E,
                           attention.window,
                           group,
                           share,
                           static_cast<int32_t>(ceilDivide(group, share)),
                           reinterpret_cast<int32_t*>(scratch),
                           reinterpret_cast<float4*>(scratch + arrivalBytes(shape, attention.scratch.maxSequences)),
                           mostChunks(attention.scratch.maxContextLength)};
  if (attention.cache.dtype == DType::kBF16) split::launchBf16(a, traits, stream);
  else split::launchF16(a, traits, stream);
}

}  // namespace octavo::cuda
