#include "report/json_report.h"

#include <unistd.h>

#include "driver/entry_table.h"
#include "report/frame_text.h"
#include "report/process.h"

namespace octavo::memtrace {

namespace {

class Object {
 public:
  explicit Object(Text& text) : text_(text) { text_.add('{'); }
  void close() { text_.add('}'); }
  Text& key(const char* name) {
    if (!first_) text_.add(',');
    first_ = false;
    return text_.add('"').add(name).add("\":");
  }
  void number(const char* name, uint64_t value) { key(name).unsignedNumber(value); }

 private:
  Text& text_;
  bool first_ = true;
};

void addQuoted(Text& text, void (*add)(Text&)) {
  Text value;
  add(value);
  text.quoted(value.view());
  value.clear();
}

void addKinds(Text& text) {
  text.add('[');
  bool first = true;
  for (size_t index = 0; index < kKinds; index++) {
    const auto& figures = tracer().statistics.kinds[index];
    if (figures.allocations == 0) continue;
    if (!first) text.add(',');
    first = false;
    Object kind(text);
    kind.key("kind").quoted(kKindTraits[index].name);
    kind.number("allocations", figures.allocations);
    kind.number("frees", figures.frees);
    kind.number("endedWithContext", figures.endedWithContext);
    kind.number("live", figures.count.value());
    kind.number("livePeak", figures.count.peak());
    kind.number("liveBytes", figures.bytes.value());
    kind.number("peakBytes", figures.bytes.peak());
    kind.number("totalBytes", figures.totalBytes);
    kind.close();
  }
  text.add(']');
}

void addGroups(Text& text, const Snapshot& snapshot, const List<Group>& groups) {
  text.add('[');
  bool first = true;
  for (const auto& group : groups) {
    text.add(first ? "\n" : ",\n");
    first = false;
    Frames frames;
    uint64_t allocations;
    tracer().stacks.read(group.stack, 100, &frames, &allocations);
    Object object(text);
    object.key("kind").quoted(traitsOf(group.kind).name);
    object.number("count", group.count);
    object.number("bytes", group.bytes);
    object.key("oldestSeconds").seconds(snapshot.time - group.oldest);
    object.key("newestSeconds").seconds(snapshot.time - group.newest);
    object.number("callsFromStack", allocations);
    object.key("stack");
    addStackJson(text, group.stack, snapshot.mayAllocate);
    object.close();
  }
  text.add(']');
}

void addTotals(Object& report, const Snapshot& snapshot) {
  const auto& statistics = tracer().statistics;
  report.number("allocations", snapshot.allocations);
  report.number("frees", snapshot.frees);
  report.number("unmatchedAllocations", snapshot.unmatchedAllocations);
  report.number("unmatchedBytes", snapshot.unmatchedBytes);
  report.key("unmatchedShare").decimal(snapshot.unmatchedShare(), 4);
  report.number("deviceBytes", statistics.deviceBytes.value());
  report.number("deviceBytesPeak", statistics.deviceBytes.peak());
  report.number("stacks", tracer().stacks.size());
  report.number("poolTrims", statistics.trims);
  report.number("unknownFrees", statistics.unknownFrees);
  report.number("refusedFrees", statistics.refusedFrees);
  report.number("replaced", statistics.replaced);
  report.number("lost", statistics.lost);
  report.number("eventsWritten", tracer().events.written());
  report.number("eventsDropped", tracer().events.dropped());
}

}  // namespace

void addJsonReport(Text& text, const Snapshot& snapshot) {
  Object report(text);
  report.number("version", 1);
  report.number("process", static_cast<uint64_t>(getpid()));
  addQuoted(report.key("command"), addCommandLine);
  report.key("reason").quoted(snapshot.reason);
  report.key("complete").add(snapshot.complete ? "true" : "false");
  report.key("seconds").seconds(snapshot.time - tracer().start);
  if (driverWasUsed()) addQuoted(report.key("driver"), addDriverPath);
  else report.key("driver").add("null");
  report.number("driverFunctions", handedOut());
  addTotals(report, snapshot);
  addKinds(report.key("kinds"));
  addGroups(report.key("unmatched"), snapshot, snapshot.unmatched);
  addGroups(report.key("endedWithContextGroups"), snapshot, snapshot.endedWithContext);
  addGroups(report.key("unknownFreeGroups"), snapshot, snapshot.unknownFrees);
  addGroups(report.key("refusedFreeGroups"), snapshot, snapshot.refusedFrees);
  report.close();
  text.add('\n');
}

}  // namespace octavo::memtrace
