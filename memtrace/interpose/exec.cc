// An exec in place ends the program as surely as _exit does: its report comes before. One that fails lets it go on.
#include <alloca.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include "driver/entry_table.h"
#include "driver/wrappers.h"
#include "interpose/libc.h"
#include "interpose/start.h"
#include "report/report.h"
#include "trace/settings.h"

namespace octavo::memtrace {

namespace {

/** Around the real exec. The child of a vfork shares our memory and is not this process: nothing is written for it. */
class Replacement {
 public:
  Replacement() : reports_(isTracedProcess() && driverWasUsed()) {
    if (!reports_) return;
    reportEnd("exec");
    leaveReports();
  }
  ~Replacement() {
    if (reports_) reportAgain();
  }

 private:
  const bool reports_;
};

template <typename... Arguments>
int replace(const char* name, Arguments... arguments) {
  const Replacement replacement;
  return reinterpret_cast<int (*)(Arguments...)>(libcFunction(name))(arguments...);
}

/** The arguments of an execl, on the caller's stack: a null ends them. */
size_t countArguments(va_list list) {
  size_t count = 1;
  while (va_arg(list, const char*) != nullptr) count++;
  return count;
}

void copyArguments(va_list list, const char* first, size_t count, const char** arguments) {
  arguments[0] = first;
  for (size_t index = 1; index <= count; index++) arguments[index] = va_arg(list, const char*);
}

}  // namespace

#define OCTAVO_TAKE_ARGUMENTS(first, arguments)                                                 \
  va_list list;                                                                                 \
  va_start(list, first);                                                                        \
  const size_t count = first == nullptr ? 0 : countArguments(list);                             \
  va_end(list);                                                                                 \
  auto** arguments = static_cast<const char**>(alloca((count + 1) * sizeof(char*)));            \
  va_start(list, first);                                                                        \
  if (count == 0) arguments[0] = nullptr;                                                       \
  else copyArguments(list, first, count, arguments)

extern "C" {

OCTAVO_EXPORT int execve(const char* path, char* const* arguments, char* const* environment) {
  return replace("execve", path, arguments, environment);
}

OCTAVO_EXPORT int execv(const char* path, char* const* arguments) { return replace("execv", path, arguments); }

OCTAVO_EXPORT int execvp(const char* file, char* const* arguments) { return replace("execvp", file, arguments); }

OCTAVO_EXPORT int execvpe(const char* file, char* const* arguments, char* const* environment) {
  return replace("execvpe", file, arguments, environment);
}

OCTAVO_EXPORT int fexecve(int file, char* const* arguments, char* const* environment) {
  return replace("fexecve", file, arguments, environment);
}

OCTAVO_EXPORT int execl(const char* path, const char* first, ...) {
  OCTAVO_TAKE_ARGUMENTS(first, arguments);
  va_end(list);
  return execv(path, const_cast<char* const*>(arguments));
}

OCTAVO_EXPORT int execlp(const char* file, const char* first, ...) {
  OCTAVO_TAKE_ARGUMENTS(first, arguments);
  va_end(list);
  return execvp(file, const_cast<char* const*>(arguments));
}

OCTAVO_EXPORT int execle(const char* path, const char* first, ...) {
  OCTAVO_TAKE_ARGUMENTS(first, arguments);
  auto* environment = va_arg(list, char* const*);
  va_end(list);
  return execve(path, const_cast<char* const*>(arguments), environment);
}

}  // extern "C"

}  // namespace octavo::memtrace
