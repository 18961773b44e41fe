#include "memory/trace/leak_finder.h"

#include <algorithm>

#include "memory/trace/symbols.h"

namespace octavo {

namespace {

const std::string& tagOf(TagId tag, const TraceSnapshot& trace) {
  return trace.tags[tag < trace.tags.size() ? tag : 0];
}

template <typename Traced>
bool isOf(const Traced& traced, const LedgerLine& line, const TraceSnapshot& trace) {
  return traced.owner == line.owner && traced.region == line.region && tagOf(traced.tag, trace) == line.tag;
}

int64_t endOf(Owner owner, const TraceSnapshot& trace) {
  for (const EndedOwner& ended : trace.ended) {
    if (ended.owner == owner) return ended.timeNanoseconds;
  }
  return 0;
}

/** The line less the allocations that the trace knows. */
Leak restOf(const LedgerLine& line, const std::vector<Leak>& known, const TraceSnapshot& trace) {
  Leak rest{line.region, line.owner, line.tag, line.bytes, line.count, 0, 0, endOf(line.owner, trace), 0};
  for (const Leak& leak : known) {
    rest.bytes -= std::min(rest.bytes, leak.bytes);
    rest.count -= std::min(rest.count, leak.count);
  }
  for (const Holding& holding : trace.holdings) {
    if (!isOf(holding, line, trace)) continue;
    rest.sinceNanoseconds = holding.timeNanoseconds;
    rest.stack = holding.stack;
  }
  return rest;
}

}  // namespace

std::vector<Leak> findLeaks(const std::vector<LedgerLine>& lines, const TraceSnapshot& trace,
                            const std::function<bool(Owner)>& isLive) {
  std::vector<Leak> leaks;
  for (const LedgerLine& line : lines) {
    if (isLive(line.owner)) continue;
    std::vector<Leak> known;
    for (const LiveAllocation& live : trace.allocations) {
      if (!isOf(live, line, trace)) continue;
      known.push_back({line.region, line.owner, line.tag, live.bytes, 1, live.address, live.timeNanoseconds,
                       endOf(line.owner, trace), live.stack});
    }
    const Leak rest = restOf(line, known, trace);
    leaks.insert(leaks.end(), known.begin(), known.end());
    if (rest.bytes > 0 || rest.count > 0) leaks.push_back(rest);
  }
  return leaks;
}

std::string describeLive(const TraceSnapshot& trace) {
  Symboliser symbols;
  std::string text;
  for (const LiveAllocation& live : trace.allocations) {
    const std::string place = symbols.describe(trace.stacks[live.stack]);
    text += std::string("; ") + ownerKindName(live.owner.kind) + " " + std::to_string(live.owner.id) + " has " +
            std::to_string(live.bytes) + " bytes of " + tagOf(live.tag, trace) + " allocated by " +
            (place.empty() ? "an unknown caller" : place);
  }
  return text;
}

}  // namespace octavo
