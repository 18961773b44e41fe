// What a thread has under way beside itself: cp.async, bulk stores, products of its warpgroup.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "tensor/numbers.h"

namespace octavo::emulator {

/** cp.async of one thread, in order. */
class ThreadCopies {
 public:
  void add(uint8_t* to, const uint8_t* from, int bytes) { copies_.push_back({to, from, bytes}); }
  void commit() { groups_.push_back(end()); }
  /** At most `pending` groups stay under way. */
  void wait(size_t pending);
  /** Copies number first … last − 1 since the thread began; the end is the number of the next one. */
  size_t end() const { return first_ + copies_.size(); }
  void performBefore(size_t last);

 private:
  struct Copy {
    uint8_t* to;
    const uint8_t* from;
    int bytes;  // of 16; zeros follow
  };
  std::deque<Copy> copies_;
  std::deque<size_t> groups_;  // where they end
  size_t first_ = 0;
};

/** Bulk stores of one thread: how many of each group have not read their shared memory. */
struct ThreadStores {
  std::deque<std::shared_ptr<int>> groups;
  std::shared_ptr<int> open = std::make_shared<int>(0);
};

/** One wgmma: what all threads of the warpgroup say of it. */
struct Product {
  Format format;
  int columns;
  bool isRightTransposed, isLeftInRegisters, accumulates;
  uint64_t left, right;  // descriptors
  bool operator==(const Product&) const = default;
};

/** What one thread has of it. */
struct ThreadProduct {
  Product product;
  void* sums;
  std::array<uint32_t, 4> left;  // as the instruction read them: the assembler keeps registers still until then
};

struct ProductGroup;

/** Groups of a warpgroup, the oldest first. */
struct ProductQueue {
  std::deque<std::unique_ptr<ProductGroup>> groups;
  uint64_t committed = 0, done = 0;

  ProductQueue();
  ~ProductQueue();
};

struct Pending {
  std::shared_ptr<ThreadCopies> copies = std::make_shared<ThreadCopies>();
  ThreadStores stores;
  std::vector<ThreadProduct> products;  // not committed
  std::shared_ptr<ProductQueue> queue;
  bool hasFenced = false;               // wgmma.fence
};

/** Of the thread that runs. */
Pending& pending();

}  // namespace octavo::emulator
