// Lines of the spill file.
#pragma once

#include <string>
#include <vector>

#include "memory/trace/stack_walk.h"
#include "memory/trace/trace_event.h"

namespace octavo {

/** {"format":"octavo-memory-events","version":1}: the first line. */
std::string headerLine();
/** {"stack":7,"frames":["octavo.node+0x1f20",…]}: addr2line's input; names would be slow. */
std::string stackLine(StackId id, const StackFrames& frames);
/** One event; `tags` by TagId. */
std::string eventLine(const TraceEvent& event, const std::vector<std::string>& tags);

}  // namespace octavo
