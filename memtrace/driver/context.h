// Which context a call was made in, asked of the driver itself.
#pragma once

#include "driver/types.h"

namespace octavo::memtrace {

/** The calling thread's current context; 0 for none. */
uint64_t currentContext();

/** Whether the primary context of a device is active: its last release ends it. */
bool isPrimaryActive(Device device);

/** A library was closed; if it was the driver, its functions are looked for anew. */
void forgetDriver();

/** The primary context that was last retained for a device; 0 for none. */
uint64_t primaryContext(Device device);
void rememberPrimary(Device device, uint64_t context);

}  // namespace octavo::memtrace
