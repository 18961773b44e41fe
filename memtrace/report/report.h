// When a report is made, and where it goes: text to stderr or a file, JSON to a file, the end of the event log.
#pragma once

namespace octavo::memtrace {

/** The last report of this process; later calls do nothing. */
void reportEnd(const char* reason);

/** The process goes on after all (an exec failed): there will be another last report. */
void reportAgain();

/** The same from a signal handler: without malloc, and not waiting for locks. */
void reportCrash(const char* signal);

/** For the child of a fork. */
void abandonReport();

/** A report in between; the process goes on. */
void reportLive();

}  // namespace octavo::memtrace
