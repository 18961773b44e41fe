#include "report/symbol.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <stdlib.h>

namespace octavo::memtrace {

Symbol symbolAt(uint64_t address) {
  Dl_info info;
  const uint64_t call = address - 1;
  if (dladdr(reinterpret_cast<void*>(call), &info) == 0) return {"", 0, nullptr, 0};
  const uint64_t fileOffset = address - reinterpret_cast<uintptr_t>(info.dli_fbase);
  const uint64_t offset = info.dli_sname == nullptr ? 0 : address - reinterpret_cast<uintptr_t>(info.dli_saddr);
  return {info.dli_fname == nullptr ? "" : info.dli_fname, fileOffset, info.dli_sname, offset};
}

void addName(Text& text, const char* name, bool mayAllocate) {
  int status = -1;
  char* plain = mayAllocate ? abi::__cxa_demangle(name, nullptr, nullptr, &status) : nullptr;
  text.add(status == 0 ? plain : name);
  free(plain);
}

}  // namespace octavo::memtrace
