#include "report/snapshot.h"

#include <algorithm>

#include "base/clock.h"

namespace octavo::memtrace {

namespace {

bool isLarger(const Group& a, const Group& b) {
  if (a.bytes != b.bytes) return a.bytes > b.bytes;
  if (a.count != b.count) return a.count > b.count;
  return a.oldest < b.oldest;
}

bool listGroups(GroupTable& table, int patience, List<Group>* list) {
  const bool complete = table.forEach(patience, [&](const Group& group) { list->add(group); });
  std::sort(list->begin(), list->end(), isLarger);
  return complete;
}

}  // namespace

void takeSnapshot(const char* reason, int patience, Snapshot* snapshot) {
  auto& state = tracer();
  snapshot->reason = reason;
  snapshot->time = now();
  GroupTable groups;
  const auto take = [&](const Allocation& allocation) {
    groups.add(allocation);
    if (traitsOf(allocation.kind).isObject) return;
    snapshot->unmatchedAllocations++;
    snapshot->unmatchedBytes += allocation.bytes;
  };
  snapshot->complete = state.live.forEach(patience, take);
  {
    const Hold hold(state.physical.lock(), patience);
    if (hold.held()) state.physical.forEach(take);
    snapshot->complete = snapshot->complete && hold.held();
  }
  listGroups(groups, 0, &snapshot->unmatched);
  groups.clear();
  const bool others = listGroups(state.endedWithContext, patience, &snapshot->endedWithContext) &&
                      listGroups(state.unknownFrees, patience, &snapshot->unknownFrees) &&
                      listGroups(state.refusedFrees, patience, &snapshot->refusedFrees);
  snapshot->complete = snapshot->complete && others;
  for (size_t index = 0; index < kKinds; index++) {
    const auto& figures = state.statistics.kinds[index];
    if (kKindTraits[index].isObject) continue;
    snapshot->allocations += figures.allocations;
    snapshot->frees += figures.frees;
  }
}

void Snapshot::release() {
  for (auto* list : {&unmatched, &endedWithContext, &unknownFrees, &refusedFrees}) list->clear();
}

}  // namespace octavo::memtrace
