// Beginning: once a process, when the library is loaded or at the first traced call, whichever comes first.
#pragma once

namespace octavo::memtrace {

void ensureStarted();

/** Whether this is the process that the trace began in: not so in the child of a vfork, which shares our memory. */
bool isTracedProcess();

}  // namespace octavo::memtrace
