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

/**
 * The call before `address`, which is where it returns to: from the loader's tables, which takes its lock, and where
 * they do not know from the object's file.
 */
Symbol symbolAt(uint64_t address);

/** A library was closed: names that lay in it are gone. */
void forgetSymbols();

/** For the child of a fork. */
void abandonSymbols();

/** The name as C++ writes it; as it is where `mayAllocate` is false: the demangler calls malloc. */
void addName(Text& text, const char* name, bool mayAllocate);

}  // namespace octavo::memtrace
