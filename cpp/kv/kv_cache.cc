#include "kv/kv_cache.h"

#include <limits>

#include "base/error.h"

namespace octavo {

namespace {

constexpr Owner kEngine{OwnerKind::kEngine, 0};
const std::string kTag = "kv";  // with a pool standing, only the allocation's padding is left on this line

/** Bounds under which no product below overflows. */
void checkShape(const KvCacheShape& shape, int64_t blocks) {
  const auto refuse = [](const std::string& what, int64_t value, const std::string& allowed) {
    throw Error(ErrorCode::kInvalidArgument,
                "KV cache: " + what + " is " + std::to_string(value) + "; allowed: " + allowed);
  };
  if (!isFloat(shape.dtype)) refuse("dtype", static_cast<int64_t>(shape.dtype), "fp32, bf16, fp16");
  if (shape.blockSize != 16 && shape.blockSize != 32 && shape.blockSize != 64) {
    refuse("blockSize", shape.blockSize, "16, 32, 64");
  }
  if (shape.layers < 1 || shape.layers > 4096) refuse("layers", shape.layers, "1 to 4096");
  if (shape.kvHeads < 1 || shape.kvHeads > 4096) refuse("kvHeads", shape.kvHeads, "1 to 4096");
  if (shape.headDim < 1 || shape.headDim > 256) refuse("headDim", shape.headDim, "1 to 256");
  const int64_t most = std::numeric_limits<BlockId>::max() / shape.blockSize;
  if (blocks < 1 || blocks > most) refuse("blocks", blocks, "1 to " + std::to_string(most));
}

Allocation take(DeviceAllocator& allocator, const KvCacheShape& shape, int64_t blocks) {
  checkShape(shape, blocks);
  const size_t bytes = shape.blockBytes();
  if (static_cast<size_t>(blocks) > std::numeric_limits<size_t>::max() / bytes) {
    throw Error(ErrorCode::kInvalidArgument, "KV cache: " + std::to_string(blocks) + " blocks of " +
                                                 std::to_string(bytes) + " bytes pass the address space");
  }
  return allocator.allocate(Region::kKv, bytes * static_cast<size_t>(blocks), kEngine, kTag);
}

}  // namespace

size_t KvCacheShape::tokenBytes() const {
  return static_cast<size_t>(layers) * 2 * static_cast<size_t>(kvHeads) * static_cast<size_t>(headDim) *
         dtypeBytes(dtype);
}

KvCache::KvCache(DeviceAllocator& allocator, const KvCacheShape& shape, int64_t blocks)
    : shape_(shape),
      blocks_(blocks),
      memory_(take(allocator, shape, blocks)),
      pool_(std::make_unique<BlockPool>(allocator.ledger(), blocks, shape.blockBytes(), kTag)) {}

KvCacheView KvCache::view() const {
  return {memory_.data(), shape_.dtype, blocks_, shape_.layers, shape_.kvHeads, shape_.blockSize, shape_.headDim};
}

}  // namespace octavo
