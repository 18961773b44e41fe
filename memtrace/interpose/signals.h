// Reports before a signal ends the process, and on SIGUSR2 while it goes on.
#pragma once

namespace octavo::memtrace {

/** Takes the signals that stand at their default; a program's own handlers are left alone, now and later. */
void installSignals();

/** The thread for live reports does not survive a fork: it starts anew when the child asks for a report. */
void restartSignals();

/** Begins the thread for live reports at the first traced call, where they are wanted. */
void serveLiveReports();

}  // namespace octavo::memtrace
