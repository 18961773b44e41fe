#pragma once

#include <cstdint>

namespace octavo::memtrace {

/** Whether an address lies in this library: such frames are ours and not the program's. */
bool isOwnCode(uintptr_t address);

}  // namespace octavo::memtrace
