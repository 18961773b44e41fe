// The wrappers: exported under the driver's own names, so that a program linked against libcuda meets them first.
#pragma once

#include "driver/entry_points.h"

#define OCTAVO_EXPORT __attribute__((visibility("default")))

namespace octavo::memtrace {

extern "C" {
#define OCTAVO_ENTRY(base, symbol, version, stream, parameters) OCTAVO_EXPORT Result symbol parameters;
OCTAVO_MEMTRACE_ENTRIES(OCTAVO_ENTRY)
#undef OCTAVO_ENTRY
}

}  // namespace octavo::memtrace
