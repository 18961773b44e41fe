// Walking the stack by the unwind tables, each address looked up once.
#pragma once

#include "trace/stack_table.h"

namespace octavo::memtrace {

/** How a walk ended, and at which return address. */
struct WalkEnd {
  enum Reason { kFull, kOutermost, kUnknownCode } reason;
  uint64_t address;
};

/** Adds the return addresses of the caller's callers that are not ours, until `frames` holds `maximum`. */
__attribute__((noinline)) WalkEnd walkStack(int maximum, Frames* frames);

/** Nobody knows more about the code at this address than we do: walks end there from now on. */
void endWalksAt(uint64_t address);

/** A library was closed. */
void forgetCode();

}  // namespace octavo::memtrace
