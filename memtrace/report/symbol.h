// What lies at a return address.
#pragma once

#include <cstdint>

#include "base/text.h"

namespace octavo::memtrace {

struct Symbol {
  /** Path of the object, '' when the address lies in none. */
  const char* file;
  /** From where the object was loaded: what addr2line takes. */
  uint64_t fileOffset;
  /** Mangled name of the function, or nullptr. */
  const char* name;
  /** From the function's beginning. */
  uint64_t offset;
};

/** The call before `address`, which is where it returns to. Takes the loader's lock. */
Symbol symbolAt(uint64_t address);

/** The name as C++ writes it; as it is where `mayAllocate` is false: the demangler calls malloc. */
void addName(Text& text, const char* name, bool mayAllocate);

}  // namespace octavo::memtrace
