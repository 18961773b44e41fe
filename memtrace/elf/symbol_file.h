// The full symbol table of an object's file: static functions, and those of programs that export nothing, stand there
// alone. System V ABI, "Sections" and "Symbol Table".
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>

namespace octavo::memtrace {

class SymbolFile {
 public:
  /** Maps the file; without one, or without the table (stripped), it finds nothing. Stays mapped. */
  static SymbolFile open(const char* path);

  struct Found {
    /** nullptr: no function covers the address. */
    const char* name;
    uint64_t offset;
  };
  /** The function at an address of the process, for an object loaded at `base`. O(symbols). */
  Found find(uint64_t address, uint64_t base) const;

 private:
  bool readSections(const uint8_t* file, size_t bytes);

  const Elf64_Sym* symbols_ = nullptr;
  size_t count_ = 0;
  const char* strings_ = nullptr;
  size_t stringBytes_ = 0;
  /** A program at fixed addresses: its symbols are not relative to where it was loaded. */
  bool isFixed_ = false;
};

}  // namespace octavo::memtrace
