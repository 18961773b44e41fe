// The ways a process ends, and the report before each.
#pragma once

namespace octavo::memtrace {

void reportAtQuickExit();

}  // namespace octavo::memtrace
