#pragma once

#include "stack/unwind_row.h"

namespace octavo::memtrace {

/** The row for the instruction before a return address, from the tables of the object it lies in. */
UnwindRow computeRow(uint64_t returnAddress);

}  // namespace octavo::memtrace
