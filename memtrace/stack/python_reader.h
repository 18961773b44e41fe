// Frames of a thread that has let go of the interpreter's lock, as frameworks do around their native calls.
//
// The thread must not wait for the lock itself: it may hold a lock of the framework that the interpreter's holder is
// waiting for. A thread of ours takes the interpreter's lock and reads the frames, while the other waits a short time
// for the answer and goes on without it when none comes.
#pragma once

#include "stack/python_api.h"
#include "trace/stack_table.h"

namespace octavo::memtrace {

/** Adds the frames of the calling thread, which Python knows as `thread`; waits at most 20 ms. */
void readPythonFrames(const PythonApi& python, void* thread, int maximum, Frames* frames);

/** The reader does not survive a fork; the child begins another when it needs one. */
void restartPythonReader();

}  // namespace octavo::memtrace
