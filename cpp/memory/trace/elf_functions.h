// The functions in the symbol table of an ELF file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace octavo {

struct ElfFunction {
  uint64_t start = 0;  // relative to where the file is loaded
  uint64_t bytes = 0;
  std::string name;    // mangled
};

/** By start. Empty when the file cannot be read, is no 64-bit ELF, is damaged, or was stripped. */
std::vector<ElfFunction> readElfFunctions(const std::string& path);

}  // namespace octavo
