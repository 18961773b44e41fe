// Allocations summed by kind and stack.
#pragma once

#include "base/hash_map.h"
#include "base/spin_lock.h"
#include "trace/allocation.h"

namespace octavo::memtrace {

struct Group {
  Kind kind;
  uint32_t stack;
  uint64_t count;
  uint64_t bytes;
  /** Times of the first and the last allocation among them. */
  int64_t oldest;
  int64_t newest;
};

class GroupTable {
 public:
  /** False when there is no memory. */
  bool add(const Allocation& allocation) {
    const Hold hold(lock_);
    const uint64_t key = (uint64_t{allocation.stack} << 8 | static_cast<uint64_t>(allocation.kind)) + 1;
    Group* group = groups_.find(key);
    if (group == nullptr) {
      group = groups_.put(key, {allocation.kind, allocation.stack, 0, 0, allocation.time, allocation.time});
    }
    if (group == nullptr) return false;
    group->count++;
    group->bytes += allocation.bytes;
    if (allocation.time < group->oldest) group->oldest = allocation.time;
    if (allocation.time > group->newest) group->newest = allocation.time;
    return true;
  }

  template <typename Visit>
  bool forEach(int patience, Visit visit) {
    const Hold hold(lock_, patience);
    if (hold.held()) groups_.forEach([&](uint64_t, const Group& group) { visit(group); });
    return hold.held();
  }

  void clear() { groups_.clear(); }

 private:
  SpinLock lock_;
  HashMap<Group> groups_;
};

}  // namespace octavo::memtrace
