// The native call stack, cheap enough for every allocation: a walk along the frame pointers.
#pragma once

#include <array>
#include <cstdint>

namespace octavo {

constexpr int kStackFrames = 8;

/** Return addresses, innermost first; unused places are 0. */
using StackFrames = std::array<uintptr_t, kStackFrames>;

/**
 * Where the caller was called from, leaving out the innermost `skip` frames. Reads only addresses between the
 * caller's frame and the end of its thread's stack, each nearer to the end than the one before: it cannot
 * fault and it ends, whatever a caller compiled without frame pointers has left in the register. Such callers
 * cut the stack short, or add an address that is none of code. Empty on systems it was not written for
 * (Windows, and processors other than x86-64 and arm64). Some ten nanoseconds a call.
 */
StackFrames captureStack(int skip) noexcept;

/** This thread as the system numbers it. */
uint32_t currentThread() noexcept;

}  // namespace octavo
