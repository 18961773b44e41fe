#pragma once

#include "base/text.h"

namespace octavo::memtrace {

/** The command line of this process, its first 200 bytes. */
void addCommandLine(Text& text);

/** Path of the driver in this process; '' when it is not loaded. */
void addDriverPath(Text& text);

}  // namespace octavo::memtrace
