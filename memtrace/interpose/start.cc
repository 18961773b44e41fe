#include "interpose/start.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "driver/wrappers.h"
#include "interpose/process_end.h"
#include "interpose/signals.h"
#include "report/report.h"
#include "report/standard_error.h"
#include "report/symbol.h"
#include "stack/capture.h"
#include "stack/python.h"
#include "trace/settings.h"
#include "trace/thread_state.h"
#include "trace/tracer.h"

namespace octavo::memtrace {

namespace {

enum Stage { kUntouched, kStarting, kStarted };
constinit std::atomic<int> stage{kUntouched};

void afterForkInChild() {
  threadState = {};
  startAsChild();
  becomeChild();
  restartSignals();
  abandonPython();
  abandonSymbols();
  abandonReport();
}

void start() {
  tracer().start = now();
  tracer().process = getpid();
  readSettings();
  keepStandardError();
  prepareCapture();
  pthread_atfork(nullptr, nullptr, afterForkInChild);
  at_quick_exit(reportAtQuickExit);
  installSignals();
}

__attribute__((constructor)) void onLoad() { ensureStarted(); }

}  // namespace

void ensureStarted() {
  if (stage.load(std::memory_order_acquire) == kStarted) return;
  int expected = kUntouched;
  if (stage.compare_exchange_strong(expected, kStarting)) {
    start();
    stage.store(kStarted, std::memory_order_release);
  }
  while (stage.load(std::memory_order_acquire) != kStarted) sched_yield();
}

bool isTracedProcess() { return stage.load() == kStarted && tracer().process == getpid(); }

}  // namespace octavo::memtrace
