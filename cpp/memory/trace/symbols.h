// From code addresses to names: slow, and only when somebody reads a report.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "memory/trace/stack_walk.h"

namespace octavo {

struct Symbol {
  uintptr_t address = 0;   // as captured: a return address
  std::string function;    // demangled; empty where the module tells no name
  std::string module;      // path of the library or program; empty when the address is in none
  uint64_t offset = 0;     // in the module: what addr2line takes, of the same build before it was stripped
};

/** Keeps what it has read for the next address. Not thread-safe. */
class Symboliser {
 public:
  /**
   * Never throws but bad_alloc. Functions that a library does not export are found in its symbol table when it
   * is the addon itself, which exports two: that table stays when only debug information was stripped.
   */
  const Symbol& symbol(uintptr_t address);
  /** "pkg::f ← main ← octavo.node+0x12", innermost first. */
  std::string describe(const StackFrames& frames);

 private:
  struct Function { uintptr_t start = 0, end = 0; std::string name; };  // mangled
  const std::vector<Function>& functionsOf(const std::string& module, uintptr_t base);

  std::unordered_map<uintptr_t, Symbol> symbols_;
  std::map<std::string, std::vector<Function>> functions_;
};

}  // namespace octavo
