// exit and main's return are only marked: what atexit handlers and static destructors free still counts, and the report
// comes after them, when the loader finishes this library. _exit runs none of that: the report comes at once.
#include "interpose/process_end.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "driver/wrappers.h"
#include "interpose/libc.h"
#include "interpose/start.h"
#include "report/report.h"
#include "trace/tracer.h"

namespace octavo::memtrace {

namespace {

using Main = int (*)(int, char**, char**);
using Hook = void (*)();
using StartMain = int (*)(Main, int, char**, Hook, Hook, Hook, void*);
using Exit = void (*)(int);

constinit Main programMain;

int markedMain(int count, char** arguments, char** environment) {
  const int status = programMain(count, arguments, environment);
  tracer().ending.store(true);
  return status;
}

__attribute__((destructor)) void onUnload() {
  if (isTracedProcess()) reportEnd("exit");
}

[[noreturn]] void endNow(int status) {
  if (isTracedProcess()) reportEnd("_exit");
  for (;;) syscall(SYS_exit_group, status);
}

}  // namespace

void reportAtQuickExit() {
  if (isTracedProcess()) reportEnd("quick_exit");
}

extern "C" {

OCTAVO_EXPORT int __libc_start_main(Main main, int count, char** arguments, Hook init, Hook fini, Hook loaderFini,
                                    void* stackEnd) {
  programMain = main;
  const auto next = reinterpret_cast<StartMain>(libcFunction("__libc_start_main"));
  return next(markedMain, count, arguments, init, fini, loaderFini, stackEnd);
}

[[noreturn]] OCTAVO_EXPORT void exit(int status) {
  if (isTracedProcess()) tracer().ending.store(true);
  const auto next = reinterpret_cast<Exit>(libcFunction("exit"));
  next(status);
  endNow(status);
}

[[noreturn]] OCTAVO_EXPORT void _exit(int status) { endNow(status); }

[[noreturn]] OCTAVO_EXPORT void _Exit(int status) { endNow(status); }

}  // extern "C"

}  // namespace octavo::memtrace
