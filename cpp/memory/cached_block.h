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

/** What every search and merge looks at fills the first cache line, what hand-outs need the second. */
struct alignas(64) CachedBlock {
  char* data = nullptr;
  size_t bytes = 0;
  BlockState state = BlockState::kUnmapped;
  uint32_t priority = 0;            // in the free index: a random number made of the address
  Segment* segment = nullptr;
  CachedBlock* previous = nullptr;  // neighbours by address
  CachedBlock* next = nullptr;
  CachedBlock* left = nullptr;      // in the free index
  CachedBlock* right = nullptr;
  LineHandle line;                  // when handed out: whose it is
  size_t requestedBytes = 0;        // when handed out, as asked for
  std::vector<Stream*> usedBy;      // streams other than its pool's that work on it
  Stream* freedOn = nullptr;        // when waiting: one more of those
  uint32_t pendingEvents = 0;       // when waiting: for that many, or for its turn in a list of deferred ones
  char* end() const { return data + bytes; }
};

/** Records in slabs, reused. What was reserved is there without an allocation, so that frees cannot fail. */
class BlockStore {
 public:
  /** Makes sure that `count` calls of `take` will not allocate. Throws std::bad_alloc. */
  void reserve(size_t count) {
    while (spare_.size() < count) addSlab();
  }
  /** After `reserve`. All fields but `data`, `bytes` and `segment` are as in a fresh block. */
  CachedBlock& take(char* data, size_t bytes, Segment& segment);
  void recycle(CachedBlock& block) noexcept;
  size_t live() const { return slabs_.size() * kSlab - spare_.size(); }

 private:
  static constexpr size_t kSlab = 64;
  void addSlab();

  std::vector<std::unique_ptr<CachedBlock[]>> slabs_;
  std::vector<CachedBlock*> spare_;  // capacity for every record there is
};

}  // namespace octavo
