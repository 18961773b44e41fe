// What the environment asks of the tracer; `octavo memtrace` sets these variables (docs/memtrace.md).
#pragma once

#include <cstddef>
#include <cstdint>

namespace octavo::memtrace {

constexpr size_t kPathBytes = 4096;

struct Settings {
  /** OCTAVO_MEMTRACE_JSON, _EVENTS, _OUTPUT: files, '' for none; `%p` becomes the process id. */
  char json[kPathBytes] = {};
  char events[kPathBytes] = {};
  char output[kPathBytes] = {};
  /** OCTAVO_MEMTRACE_TOP: groups printed. */
  uint64_t top = 20;
  /** OCTAVO_MEMTRACE_MIN_BYTES: smaller groups are summed in one line. */
  uint64_t minimumBytes = 0;
  /** OCTAVO_MEMTRACE_FRAMES: native frames a stack. */
  int frames = 8;
  /** OCTAVO_MEMTRACE_MAX_EVENTS: the log ends there. */
  uint64_t maximumEvents = 10000000;
  /** OCTAVO_MEMTRACE_PYTHON: Python frames a stack. */
  int pythonFrames = 0;
  /** OCTAVO_MEMTRACE_CHILDREN=0: programs started by this one are not traced. */
  bool children = true;
  /** OCTAVO_MEMTRACE_TERM=1: report when SIGTERM or SIGHUP ends the process. */
  bool term = false;
  /** OCTAVO_MEMTRACE_LIVE=1: report on SIGUSR2 and go on. */
  bool live = false;
  /** This process was not started by a traced one. */
  bool isRoot = true;
};

/** Read from the environment once, by readSettings(). */
const Settings& settings();

/** Reads the environment, and marks it for the processes that this one starts. */
void readSettings();

/** Before an exec: the next program in this process must not write over the reports of this one. */
void leaveReports();

/** After a fork: this process is not the first any more. */
void becomeChild();

/** `pattern` with %p replaced; a process that is not the first appends its id where there is no %p. */
bool expandPath(const char* pattern, char* path, size_t bytes);

}  // namespace octavo::memtrace
