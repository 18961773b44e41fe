// The paged, block-major KV memory of one cache group and its pool of blocks.
#pragma once

#include <memory>

#include "kv/block_pool.h"
#include "memory/allocator.h"
#include "ops/tensor.h"

namespace octavo {

struct KvCacheShape {
  DType dtype = DType::kF32;
  int32_t layers = 0, kvHeads = 0, blockSize = 0, headDim = 0;

  /** layers · 2 · kvHeads · headDim · bytes. */
  size_t tokenBytes() const;
  size_t blockBytes() const { return tokenBytes() * blockSize; }
};

class KvCache {
 public:
  /** Takes blocks · blockBytes from region kv, owner engine. Throws kOutOfMemory, kInvalidArgument. */
  KvCache(DeviceAllocator& allocator, const KvCacheShape& shape, int64_t blocks);
  KvCacheView view() const;
  BlockPool& pool() { return *pool_; }
  const KvCacheShape& shape() const { return shape_; }

 private:
  KvCacheShape shape_;
  int64_t blocks_;
  Allocation memory_;
  std::unique_ptr<BlockPool> pool_;
};

}  // namespace octavo
