// The functions that we stand in front of, as libc has them.
#pragma once

namespace octavo::memtrace {

/** A function of libc.so.6 by name, in its default version; nullptr when there is none. */
void* libcFunction(const char* name);

}  // namespace octavo::memtrace
