// The paged, block-major KV memory of one cache group and its pool of blocks.
#pragma once

#include <memory>

#include "kv/block_pool.h"
#include "memory/page_range.h"
#include "ops/tensor.h"

namespace octavo {

struct KvCacheShape {
  DType dtype = DType::kF32;  // a float, or codes: fp8_e4m3 or int8, which scale as scalingOf says
  int32_t layers = 0, kvHeads = 0, blockSize = 0, headDim = 0;

  KvCacheView view(void* data, int64_t blocks) const;
  /** layers · 2 · kvHeads · blockSize · headDim · bytes, and the scales of int8: 4 bytes a token, head, k and v. */
  size_t blockBytes() const { return view(nullptr, 0).blockBytes(); }
  size_t tokenBytes() const { return blockBytes() / blockSize; }
};

class KvCache {
 public:
  /**
   * Reserves addresses for the blocks; memory comes page by page as they are taken, from region kv, owner engine.
   * `elastic` false: all of it at once, as on a device that cannot map pages. Throws kOutOfMemory, kInvalidArgument.
   */
  KvCache(DeviceAllocator& allocator, const KvCacheShape& shape, int64_t blocks, bool elastic = true);
  KvCacheView view() const;
  /** What a cache of so many blocks holds when it is full: whole pages. */
  static size_t plannedBytes(const KvCacheShape& shape, int64_t blocks);
  /** Where a block's bytes start. */
  void* address(BlockId block) const { return static_cast<char*>(pages_.base()) + block * shape_.blockBytes(); }
  BlockPool& pool() { return *pool_; }
  const KvCacheShape& shape() const { return shape_; }

 private:
  KvCacheShape shape_;
  int64_t blocks_;
  PageRange pages_;
  std::unique_ptr<BlockPool> pool_;
};

}  // namespace octavo
