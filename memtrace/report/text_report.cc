#include "report/text_report.h"

#include <unistd.h>

#include "driver/entry_table.h"
#include "report/frame_text.h"
#include "report/process.h"
#include "trace/settings.h"

namespace octavo::memtrace {

namespace {

/** `text` in a column, numbers to the right. */
void addColumn(Text& line, const Text& cell, size_t width) {
  for (size_t length = cell.size(); length < width; length++) line.add(' ');
  line.add(cell.view());
}

void addNumber(Text& line, uint64_t value, size_t width) {
  Text cell;
  addColumn(line, cell.unsignedNumber(value), width);
  cell.clear();
}

void addBytes(Text& line, uint64_t value, size_t width) {
  Text cell;
  addColumn(line, cell.bytes(value), width);
  cell.clear();
}

void addHead(Text& text, const Snapshot& snapshot) {
  text.add("octavo memtrace: process ").number(getpid()).add(" (");
  addCommandLine(text);
  text.add("), ").add(snapshot.reason).add(" after ").seconds(snapshot.time - tracer().start).add(" s\n");
}

void addTotals(Text& text, const Snapshot& snapshot) {
  const auto& statistics = tracer().statistics;
  text.add("  driver ");
  addDriverPath(text);
  text.add("\n  ").unsignedNumber(snapshot.allocations);
  text.add(snapshot.allocations == 1 ? " allocation, " : " allocations, ").unsignedNumber(snapshot.frees);
  text.add(snapshot.frees == 1 ? " free, " : " frees, ");
  text.unsignedNumber(snapshot.unmatchedAllocations).add(" unmatched (");
  text.decimal(snapshot.unmatchedShare(), 2).add(" %): ").bytes(snapshot.unmatchedBytes).add('\n');
  text.add("  device memory: peak ").bytes(statistics.deviceBytes.peak()).add(", now ");
  text.bytes(statistics.deviceBytes.value()).add('\n');
}

void addKinds(Text& text) {
  text.add("  kind         allocations       frees   live     live bytes     peak bytes\n");
  for (size_t index = 0; index < kKinds; index++) {
    const auto& figures = tracer().statistics.kinds[index];
    if (figures.allocations == 0) continue;
    Text name;
    name.add("  ").add(kKindTraits[index].name);
    while (name.size() < 13) name.add(' ');
    text.add(name.view());
    name.clear();
    addNumber(text, figures.allocations, 13);
    addNumber(text, figures.frees, 12);
    addNumber(text, figures.count.value(), 7);
    addBytes(text, figures.bytes.value(), 15);
    addBytes(text, figures.bytes.peak(), 15);
    text.add('\n');
  }
}

enum class Subject { kAllocations, kFrees };

/** `3 device allocations`, `1 stream`, `2 frees of device`. */
void addSubject(Text& text, const Group& group, Subject subject) {
  const char* plural = group.count == 1 ? "" : "s";
  const auto& kind = traitsOf(group.kind);
  text.unsignedNumber(group.count).add(' ');
  if (subject == Subject::kFrees) text.add("free").add(plural).add(" of ").add(kind.name);
  else if (kind.isObject) text.add(kind.name).add(plural);
  else text.add(kind.name).add(" allocation").add(plural);
}

void addGroup(Text& text, const Snapshot& snapshot, const Group& group, Subject subject, uint64_t place) {
  text.add("  ").unsignedNumber(place).add(". ");
  if (subject == Subject::kAllocations && !traitsOf(group.kind).isObject) {
    text.unsignedNumber(group.bytes).add(" bytes in ");
  }
  addSubject(text, group, subject);
  text.add(", age ").seconds(snapshot.time - group.newest);
  if (group.count > 1) text.add(" to ").seconds(snapshot.time - group.oldest);
  Frames frames;
  uint64_t calls;
  tracer().stacks.read(group.stack, 100, &frames, &calls);
  text.add(" s, of ").unsignedNumber(calls).add(" from here\n");
  addStackLines(text, group.stack, snapshot.mayAllocate);
}

void addGroups(Text& text, const Snapshot& snapshot, const char* title, Subject subject, const List<Group>& groups) {
  if (groups.size() == 0) return;
  text.add("  ").add(title).add(":\n");
  uint64_t shown = 0;
  uint64_t others = 0;
  uint64_t otherBytes = 0;
  for (const auto& group : groups) {
    const bool isLarge = subject == Subject::kFrees || group.bytes >= settings().minimumBytes;
    if (shown < settings().top && isLarge) {
      addGroup(text, snapshot, group, subject, ++shown);
    } else {
      others++;
      otherBytes += group.bytes;
    }
  }
  if (others == 0) return;
  text.add("  and ").unsignedNumber(others).add(others == 1 ? " more stack: " : " more stacks: ");
  text.bytes(otherBytes).add('\n');
}

void addRemark(Text& text, uint64_t count, const char* sentence) {
  if (count > 0) text.add("  ").unsignedNumber(count).add(' ').add(sentence).add('\n');
}

void addRemarks(Text& text, const Snapshot& snapshot) {
  const auto& statistics = tracer().statistics;
  addRemark(text, statistics.replaced, "allocations at an address that seemed to live: their free was not seen");
  addRemark(text, statistics.lost, "events lost: the tracer had no memory for them");
  addRemark(text, tracer().events.dropped(), "events past the bound of the event log");
  if (!snapshot.complete) text.add("  incomplete: the process ended in the middle of a traced call\n");
}

}  // namespace

void addTextReport(Text& text, const Snapshot& snapshot) {
  addHead(text, snapshot);
  if (!driverWasUsed()) {
    text.add("  libcuda.so.1 was never used in this process: there is nothing to report\n");
    return;
  }
  addTotals(text, snapshot);
  addKinds(text);
  const auto allocations = Subject::kAllocations;
  addGroups(text, snapshot, "unmatched, by stack", allocations, snapshot.unmatched);
  addGroups(text, snapshot, "ended with their context, never freed", allocations, snapshot.endedWithContext);
  addGroups(text, snapshot, "freed, but no allocation was seen", Subject::kFrees, snapshot.unknownFrees);
  addGroups(text, snapshot, "refused by the driver: freed twice, or never allocated", Subject::kFrees,
            snapshot.refusedFrees);
  addRemarks(text, snapshot);
}

}  // namespace octavo::memtrace
