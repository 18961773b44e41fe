#include "asynchronous/products.h"

#include <cstring>

#include "machine/thread.h"
#include "tensor/descriptor.h"
#include "tensor/product.h"

namespace octavo::emulator {

namespace {

constexpr int kThreads = 128, kRows = 64, kMostColumns = 256, kMostDepth = 32;

/** Row of value i of a thread, and its column (PTX ISA, "wgmma", D fragments). */
constexpr int rowOf(int thread, int i) { return thread / 32 * 16 + thread % 32 / 4 + (i >> 1 & 1) * 8; }
constexpr int columnOf(int thread, int i) { return (i >> 2) * 8 + thread % 4 * 2 + (i & 1); }

/** Sums of a tile while products are added to it: they are in floats or, of codes of 8 bits, in integers. */
struct Tile {
  alignas(64) uint32_t values[kRows * kMostColumns];

  void gather(void* const (&threads)[kThreads], int columns) {
    forEach(columns, [&](int thread, int i, uint32_t& value) {
      value = static_cast<const uint32_t*>(threads[thread])[i];
    });
  }
  void scatter(void* const (&threads)[kThreads], int columns) {
    forEach(columns, [&](int thread, int i, uint32_t& value) { static_cast<uint32_t*>(threads[thread])[i] = value; });
  }

 private:
  template <class Act>
  void forEach(int columns, Act act) {
    for (int thread = 0; thread < kThreads; ++thread) {
      for (int i = 0; i < columns / 2; ++i) act(thread, i, values[rowOf(thread, i) * columns + columnOf(thread, i)]);
    }
  }
};

struct Shared {
  Tile tile;
  alignas(64) float left[kRows * kMostDepth], right[kMostDepth * kMostColumns];
};

// One launch runs at a time.
Shared& scratch() {
  static Shared shared;
  return shared;
}

/** One wgmma of all threads. */
struct GroupProduct {
  Product product;
  void* sums[kThreads];
  uint32_t left[kThreads][4];

  void readLeft(const uint8_t* window, float* to) const {
    const int depth = depthOf(product.format);
    if (!product.isLeftInRegisters) {
      Operand{Descriptor(product.left), product.format, kRows, false}.read(window, to, depth, 1);
      return;
    }
    for (int thread = 0; thread < kThreads; ++thread) {
      for (int i = 0; i < 4; ++i) {  // pairs: rows g and g + 8, then the next eight of K
        const int row = thread / 32 * 16 + thread % 32 / 4 + i % 2 * 8, k = thread % 4 * 2 + i / 2 * 8;
        toFloats(product.format, &left[thread][i], to + row * depth + k, 2, 1);
      }
    }
  }

  void addTo(Tile& tile, const uint8_t* window) const {
    Shared& s = scratch();
    const int columns = product.columns, depth = depthOf(product.format);
    readLeft(window, s.left);
    Operand{Descriptor(product.right), product.format, columns, product.isRightTransposed}.read(window, s.right, 1,
                                                                                                columns);
    if (product.format == Format::kInt8) {
      addProducts(reinterpret_cast<int32_t*>(tile.values), s.left, s.right, kRows, columns, depth, depth);
    } else {
      addProducts(reinterpret_cast<float*>(tile.values), s.left, s.right, kRows, columns, depth, depth);
    }
  }
};

std::string refusalOf(const Product& product) {
  if (!product.isLeftInRegisters) {
    const Operand left{Descriptor(product.left), product.format, kRows, false};
    if (std::string refusal = left.refusal(); !refusal.empty()) return refusal;
  }
  return Operand{Descriptor(product.right), product.format, product.columns, product.isRightTransposed}.refusal();
}

}  // namespace

/** What a warpgroup has committed at once. */
struct ProductGroup {
  std::vector<GroupProduct> products;
  const uint8_t* window;

  void perform() const {
    Tile& tile = scratch().tile;
    const GroupProduct* last = nullptr;
    for (const GroupProduct& next : products) {
      const bool isSame = last && last->sums[0] == next.sums[0] && last->product.columns == next.product.columns;
      if (!isSame && last) tile.scatter(last->sums, last->product.columns);
      if (!next.product.accumulates) std::memset(tile.values, 0, sizeof(float) * kRows * next.product.columns);
      else if (!isSame) tile.gather(next.sums, next.product.columns);
      next.addTo(tile, window);
      last = &next;
    }
    if (last) tile.scatter(last->sums, last->product.columns);
  }
};

ProductQueue::ProductQueue() = default;
ProductQueue::~ProductQueue() = default;

void fenceProducts() { pending().hasFenced = true; }

void issueProduct(const Product& product, void* sums, const uint32_t* left) {
  Pending& mine = pending();
  if (!mine.hasFenced) fault("a wgmma before any wgmma.fence");
  if (std::string refusal = refusalOf(product); !refusal.empty()) fault(refusal);
  ThreadProduct issued{product, sums, {}};
  if (left) std::memcpy(issued.left.data(), left, sizeof(issued.left));
  mine.products.push_back(issued);
}

namespace {

std::unique_ptr<ProductGroup> groupOf(const std::array<Pending*, kThreads>& threads) {
  auto group = std::make_unique<ProductGroup>();
  group->window = sharedPointer(0);
  group->products.resize(threads[0]->products.size());
  for (int thread = 0; thread < kThreads; ++thread) {
    std::vector<ThreadProduct>& products = threads[static_cast<size_t>(thread)]->products;
    if (products.size() != group->products.size()) fault("threads of a warpgroup commit different numbers of wgmma");
    for (size_t i = 0; i < products.size(); ++i) {
      GroupProduct& to = group->products[i];
      if (thread == 0) to.product = products[i].product;
      if (to.product != products[i].product) fault("threads of a warpgroup issue different wgmma");
      to.sums[thread] = products[i].sums;
      std::memcpy(to.left[thread], products[i].left.data(), sizeof(to.left[thread]));
    }
    products.clear();
  }
  return group;
}

}  // namespace

void commitProducts() {
  meetGroup(pending(), [](std::array<Pending*, kThreads>& threads) {
    std::shared_ptr<ProductQueue>& queue = threads[0]->queue;
    if (!queue) queue = std::make_shared<ProductQueue>();
    for (Pending* thread : threads) thread->queue = queue;
    queue->groups.push_back(groupOf(threads));
    ++queue->committed;
    later("a group of wgmma", [queue] {  // the oldest: groups of a warpgroup are done in order
      queue->groups.front()->perform();
      queue->groups.pop_front();
      ++queue->done;
    });
  });
}

void waitProducts(int count) {
  const auto queue = pending().queue;
  if (!queue || queue->committed < static_cast<uint64_t>(count)) return;
  const uint64_t wanted = queue->committed - static_cast<uint64_t>(count);
  waitUntil("a group of wgmma", [&] { return queue->done >= wanted; });
}

}  // namespace octavo::emulator
