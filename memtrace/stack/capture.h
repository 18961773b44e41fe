// The calling thread's stack at this moment.
#pragma once

#include "trace/stack_table.h"

namespace octavo::memtrace {

/** Loads what capturing needs, so that no capture has to. */
void prepareCapture();

/** Return addresses of the program's frames, without our own; then Python's, where asked for. */
void captureStack(Frames* frames);

}  // namespace octavo::memtrace
