#include "report/report.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "driver/entry_table.h"
#include "report/frame_text.h"
#include "report/json_report.h"
#include "report/standard_error.h"
#include "report/text_report.h"
#include "trace/settings.h"
#include "trace/thread_state.h"

namespace octavo::memtrace {

namespace {

constexpr int kWait = 0;
constexpr int kCrashPatience = 1000;

/** The process of the last report: a child of fork has one of its own. */
constinit std::atomic<int> reported{0};
/** The thread that writes one; 0 for none. */
constinit std::atomic<uint32_t> writer{0};

/** `text` as the whole file of a pattern, or on stderr when the file cannot be written. */
void writeFile(const char* pattern, const Text& text) {
  char path[kPathBytes];
  const int file =
      expandPath(pattern, path, sizeof path) ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644) : -1;
  const bool done = file >= 0 && text.writeTo(file);
  const int error = errno;
  if (file >= 0) close(file);
  if (done) return;
  Text complaint;
  complaint.add("octavo memtrace: ").add(pattern).add(" cannot be written (error ").number(error).add(")\n");
  complaint.writeTo(standardError());
  complaint.clear();
}

/** The frames of every stack that the log's events name. */
void appendStacks(bool mayAllocate) {
  Text line;
  tracer().stacks.forEach([&](uint32_t stack) {
    line.add("{\"stack\":").number(stack).add(",\"frames\":");
    addStackJson(line, stack, mayAllocate);
    line.add("}\n");
    tracer().events.append(line);
    line.clear();
  });
}

void write(const char* reason, int patience, bool mayAllocate, bool isLast) {
  if (!driverWasUsed() && !settings().isRoot) return;
  threadState.depth++;
  writer.store(threadId());
  tracer().events.flush(patience);
  if (isLast && settings().events[0] != '\0' && driverWasUsed()) {
    appendStacks(mayAllocate);
    tracer().events.flush(patience);
  }
  Snapshot snapshot;
  snapshot.mayAllocate = mayAllocate;
  takeSnapshot(reason, patience, &snapshot);
  Text text;
  addTextReport(text, snapshot);
  if (settings().output[0] == '\0') text.writeTo(standardError());
  else writeFile(settings().output, text);
  text.clear();
  if (settings().json[0] != '\0') {
    addJsonReport(text, snapshot);
    writeFile(settings().json, text);
  }
  text.clear();
  snapshot.release();
  writer.store(0);
  threadState.depth--;
}

bool isFirst() { return reported.exchange(getpid()) != getpid(); }

}  // namespace

void reportEnd(const char* reason) {
  if (isFirst()) write(reason, kWait, true, true);
}

void reportAgain() { reported.store(0); }

void reportCrash(const char* signal) {
  if (isFirst()) write(signal, kCrashPatience, false, true);
  // Another thread may be at the last report: two seconds for it. If it is this one, the report itself has failed.
  for (int waits = 0; waits < 200 && writer.load() != 0 && writer.load() != threadId(); waits++) usleep(10000);
}

void abandonReport() { writer.store(0); }

void reportLive() { write("live", kWait, true, false); }

}  // namespace octavo::memtrace
