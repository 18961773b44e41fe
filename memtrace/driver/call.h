// One call of the program into the driver, seen from a wrapper.
#pragma once

#include "driver/entry_table.h"
#include "interpose/signals.h"
#include "interpose/start.h"
#include "trace/thread_state.h"

namespace octavo::memtrace {

/** Lives as long as the wrapper runs. Calls that the driver makes to itself meanwhile are not the program's. */
class Call {
 public:
  Call() : outermost_(threadState.depth++ == 0) {
    if (!outermost_) return;
    ensureStarted();
    serveLiveReports();
  }
  ~Call() { threadState.depth--; }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  bool isProgram() const { return outermost_; }
  bool succeeded(Result result) const { return outermost_ && result == kSuccess; }

  /** The driver's own function; kNotFound where it has none of that name. */
  template <Entry entry, typename... Arguments>
  Result driver(Arguments... arguments) const {
    using Function = typename Prototype<entry>::type;
    auto* function = reinterpret_cast<Function*>(driverFunction(entry));
    return function == nullptr ? kNotFound : function(arguments...);
  }

 private:
  const bool outermost_;
};

/** For the live table, which keeps handles and addresses alike. */
template <typename Pointee>
uint64_t addressOf(Pointee* pointer) {
  return reinterpret_cast<uintptr_t>(pointer);
}

}  // namespace octavo::memtrace
