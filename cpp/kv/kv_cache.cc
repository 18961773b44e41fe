#include "kv/kv_cache.h"

#include <limits>

#include "base/error.h"
#include "device/host_range.h"
#include "kv/pool_tags.h"

namespace octavo {

namespace {

/** Bounds under which no product below overflows. */
void checkShape(const KvCacheShape& shape, int64_t blocks) {
  const auto refuse = [](const std::string& what, int64_t value, const std::string& allowed) {
    throw Error(ErrorCode::kInvalidArgument,
                "KV cache: " + what + " is " + std::to_string(value) + "; allowed: " + allowed);
  };
  if (!isFloat(shape.dtype) && !isCode(shape.dtype)) {
    refuse("dtype", static_cast<int64_t>(shape.dtype), "fp32, bf16, fp16, fp8_e4m3, int8");
  }
  if (shape.blockSize != 16 && shape.blockSize != 32 && shape.blockSize != 64) {
    refuse("blockSize", shape.blockSize, "16, 32, 64");
  }
  if (shape.layers < 1 || shape.layers > 4096) refuse("layers", shape.layers, "1 to 4096");
  if (shape.kvHeads < 1 || shape.kvHeads > 4096) refuse("kvHeads", shape.kvHeads, "1 to 4096");
  if (shape.headDim < 1 || shape.headDim > 256) refuse("headDim", shape.headDim, "1 to 256");
  const int64_t most = std::numeric_limits<BlockId>::max() / shape.blockSize;
  if (blocks < 1 || blocks > most) refuse("blocks", blocks, "1 to " + std::to_string(most));
}

PageRange reserve(DeviceAllocator& allocator, const KvCacheShape& shape, int64_t blocks, bool elastic) {
  checkShape(shape, blocks);
  const size_t bytes = shape.blockBytes();
  if (static_cast<size_t>(blocks) > std::numeric_limits<size_t>::max() / 2 / bytes) {
    throw Error(ErrorCode::kInvalidArgument, "KV cache: " + std::to_string(blocks) + " blocks of " +
                                                 std::to_string(bytes) + " bytes pass the address space");
  }
  const size_t pages = KvCache::plannedBytes(shape, blocks) / kPageBytes;
  if (!elastic) {
    std::unique_ptr<AddressRange> range = reserveWholeRange(allocator.device(), pages);
    if (!range) throw allocator.deviceRefusal(Region::kKv, pages * kPageBytes);
    return {allocator, std::move(range), Region::kKv, kEngine, BlockPool::kPageTag};
  }
  return PageRange::reserve(allocator, Region::kKv, pages, kEngine, BlockPool::kPageTag);
}

}  // namespace

KvCacheView KvCacheShape::view(void* data, int64_t blocks) const {
  return {data, dtype, blocks, layers, kvHeads, blockSize, headDim, scalingOf(dtype)};
}

size_t KvCache::plannedBytes(const KvCacheShape& shape, int64_t blocks) {
  return (static_cast<size_t>(blocks) * shape.blockBytes() + kPageBytes - 1) / kPageBytes * kPageBytes;
}

KvCache::KvCache(DeviceAllocator& allocator, const KvCacheShape& shape, int64_t blocks, bool elastic)
    : shape_(shape),
      blocks_(blocks),
      pages_(reserve(allocator, shape, blocks, elastic)),
      pool_(std::make_unique<BlockPool>(allocator.ledger(), pages_, blocks, shape.blockBytes())) {}

KvCacheView KvCache::view() const { return shape_.view(pages_.base(), blocks_); }

}  // namespace octavo
