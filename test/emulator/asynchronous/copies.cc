#include "asynchronous/copies.h"

#include <cstring>
#include <string>

#include "asynchronous/barrier.h"
#include "asynchronous/pending.h"
#include "machine/thread.h"

namespace octavo::emulator {

namespace {

void demand(bool kept, const char* words) {
  if (!kept) fault(words);
}

bool isAligned(const void* at, uintptr_t bytes) { return reinterpret_cast<uintptr_t>(at) % bytes == 0; }

}  // namespace

void ThreadCopies::performBefore(size_t last) {
  for (; first_ < last; ++first_) {
    const Copy& copy = copies_.front();
    std::memset(copy.to, 0, 16);
    if (copy.bytes) std::memcpy(copy.to, copy.from, static_cast<size_t>(copy.bytes));
    copies_.pop_front();
  }
}

void ThreadCopies::wait(size_t pending) {
  for (; groups_.size() > pending; groups_.pop_front()) performBefore(groups_.front());
}

void copyAsync(uint32_t to, const void* from, int bytes) {
  demand(to % 16 == 0 && isAligned(from, 16), "cp.async of 16 bytes that do not lie on a boundary of 16 bytes");
  demand(bytes >= 0 && bytes <= 16, "cp.async of more than 16 bytes, or of fewer than none");
  pending().copies->add(sharedPointer(to), static_cast<const uint8_t*>(from), bytes);
}

void commitCopies() { pending().copies->commit(); }
void waitCopies(int count) { pending().copies->wait(static_cast<size_t>(count)); }

void arriveAfterCopies(uint32_t barrier) {
  const auto copies = pending().copies;
  later("cp.async and its arrival", [to = barrierAt(barrier), copies, end = copies->end()] {
    copies->performBefore(end);
    to->arrive();
  });
}

void loadBytes(uint32_t to, const void* from, uint32_t bytes, uint32_t barrier) {
  demand(to % 16 == 0 && isAligned(from, 16) && bytes % 16 == 0, "a bulk copy by bytes that are no multiple of 16");
  later("a bulk copy", [target = sharedPointer(to), from, bytes, on = barrierAt(barrier)] {
    std::memcpy(target, from, bytes);
    on->complete(bytes);
  });
}

namespace {

Box boxOf(const void* map, std::initializer_list<int> at) {
  demand(isAligned(map, 64), "a tensor map that does not lie on a boundary of 64 bytes");
  Box box(map, at);
  if (std::string refusal = box.refusal(); !refusal.empty()) fault(refusal);
  return box;
}

void demandPlace(const Box& box, uint32_t address) {
  demand(address % 128 == 0, "a box in shared memory that does not lie on a boundary of 128 bytes");
  demand((address & 0xffffff) + box.bytes() <= 228 << 10, "a box that ends behind the shared memory");
}

void loadBoxTo(const Box& box, uint32_t to, uint32_t barrier) {
  // The window of the block that is written to, for the chunks' places follow from the address in it.
  uint8_t* const window = sharedPointer(to) - (to & 0xffffff);
  later("a tile", [box, window, to = to & 0xffffff, on = barrierAt(barrier)] {
    box.load(window, to);
    on->complete(box.bytes());
  });
}

}  // namespace

void loadBox(uint32_t to, const void* map, uint32_t barrier, std::initializer_list<int> at) {
  const Box box = boxOf(map, at);
  demandPlace(box, to);
  loadBoxTo(box, to, barrier);
}

void loadBoxShared(uint32_t to, const void* map, uint32_t barrier, std::initializer_list<int> at, uint16_t mask) {
  const Box box = boxOf(map, at);
  demandPlace(box, to);
  demand(mask != 0 && mask >> clusterBlocks() == 0, "a tile for blocks that are not in the cluster, or for none");
  for (int rank = 0; rank < clusterBlocks(); ++rank) {
    if (mask >> rank & 1) loadBoxTo(box, addressInBlock(to, rank), addressInBlock(barrier, rank));
  }
}

void storeBox(const void* map, uint32_t from, std::initializer_list<int> at) {
  const Box box = boxOf(map, at);
  demandPlace(box, from);
  const auto group = pending().stores.open;
  ++*group;
  later("the store of a tile", [box, window = sharedPointer(0), from, group] {
    box.store(window, from);
    --*group;
  });
}

void commitStores() {
  ThreadStores& stores = pending().stores;
  stores.groups.push_back(stores.open);
  stores.open = std::make_shared<int>(0);
}

void waitStoresRead(int count) {
  ThreadStores& stores = pending().stores;
  const auto kept = static_cast<size_t>(count);
  while (stores.groups.size() > kept) {
    waitUntil("a group of bulk stores", [group = stores.groups.front()] { return *group == 0; });
    stores.groups.pop_front();
  }
}

}  // namespace octavo::emulator
