// A stretch of a segment's addresses, and where such records come from. Private to the caching allocator.
#pragma once

#include <memory>
#include <vector>

#include "memory/ledger.h"

namespace octavo {

class Segment;
class Stream;

/** kWaiting: given back, but work on some stream may still use it. kUnmapped: addresses without memory. */
enum class BlockState : uint8_t { kUnmapped, kFree, kAllocated, kWaiting };

/** All that the cached path touches: one cache line. What is said of a state is there in that state only. */
struct alignas(64) CachedBlock {
  char* data = nullptr;
  size_t bytes = 0;
  Segment* segment = nullptr;
  CachedBlock* previous = nullptr;  // neighbours by address
  CachedBlock* next = nullptr;
  union {
    CachedBlock* left = nullptr;    // free: in the free index; a gap, or deferred: in their list
    void* line;                     // allocated: whose it is, by CachedLine
  };
  union {
    CachedBlock* right = nullptr;   // free: in the free index; a gap: in the list
    size_t requestedBytes;          // allocated: as asked for
  };
  BlockState state = BlockState::kUnmapped;
  bool isShared = false;            // its StreamUse says something
  uint32_t priority = 0;            // in the free index: a random number made of the address
  char* end() const { return data + bytes; }
};
static_assert(sizeof(CachedBlock) == 64);

/** Which streams other than its pool's work on a block. Few blocks have any. */
struct StreamUse {
  std::vector<Stream*> usedBy;
  Stream* freedOn = nullptr;        // when waiting: one more of those
  uint32_t pendingEvents = 0;       // when waiting: for that many, or for its turn in a list of deferred ones
};

/** Records in slabs, reused. What was reserved is there without an allocation, so that frees cannot fail. */
class BlockStore {
 public:
  /** Makes sure that `count` calls of `take` will not allocate. Throws std::bad_alloc. */
  void reserve(size_t count) {
    while (spare_.size() < count) addSlab();
  }
  bool has(size_t count) const { return spare_.size() >= count; }
  /** After `reserve`. All fields but `data`, `bytes` and `segment` are as in a fresh block. */
  CachedBlock& take(char* data, size_t bytes, Segment& segment) {
    CachedBlock& block = *spare_.back();
    spare_.pop_back();
    block.data = data;
    block.bytes = bytes;
    block.segment = &segment;
    const uint64_t spread = (reinterpret_cast<uintptr_t>(data) >> 9) * 0x9e3779b97f4a7c15;
    block.priority = static_cast<uint32_t>(spread >> 32);
    return block;
  }
  void recycle(CachedBlock& block) noexcept {
    if (block.isShared) [[unlikely]] forgetUse(block);
    block.state = BlockState::kUnmapped;
    block.previous = block.next = block.left = block.right = nullptr;
    spare_.push_back(&block);
  }
  size_t live() const { return slabs_.size() * kSlab - spare_.size(); }
  static StreamUse& useOf(CachedBlock& block);

 private:
  static constexpr size_t kSlab = 64;
  /** Aligned to its blocks' bytes, so that a block's address says where its use is. */
  struct alignas(kSlab * sizeof(CachedBlock)) Slab {
    CachedBlock blocks[kSlab];
    StreamUse uses[kSlab];
  };
  static void forgetUse(CachedBlock& block) noexcept;
  void addSlab();

  std::vector<std::unique_ptr<Slab>> slabs_;
  std::vector<CachedBlock*> spare_;  // capacity for every record there is
};

}  // namespace octavo
