#include "elf/own_code.h"

/** Set by the linker: the beginning of this library's image and the end of its code. */
extern "C" {
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));
}

namespace octavo::memtrace {

bool isOwnCode(uintptr_t address) {
  return address >= reinterpret_cast<uintptr_t>(__ehdr_start) && address < reinterpret_cast<uintptr_t>(etext);
}

}  // namespace octavo::memtrace
