// The frames of a stack as lines of text and as JSON.
#pragma once

#include "base/text.h"

namespace octavo::memtrace {

/** One indented line a frame, innermost first. */
void addStackLines(Text& text, uint32_t stack, bool mayAllocate);

/** A JSON array of frames. */
void addStackJson(Text& text, uint32_t stack, bool mayAllocate);

}  // namespace octavo::memtrace
