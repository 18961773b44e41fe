#include "memory/trace/symbols.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "memory/trace/elf_functions.h"

#if !defined(_WIN32)
#include <cxxabi.h>
#include <dlfcn.h>
#endif

namespace octavo {

#if !defined(_WIN32)

namespace {

std::string demangle(const char* name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> plain(abi::__cxa_demangle(name, nullptr, nullptr, &status),
                                                          &std::free);
  return status == 0 && plain ? plain.get() : name;
}

/** Where this code was loaded. */
const void* ownBase() {
  static const char kHere = 0;
  Dl_info info{};
  return dladdr(&kHere, &info) != 0 ? info.dli_fbase : nullptr;
}

}  // namespace

const Symbol& Symboliser::symbol(uintptr_t address) {
  const auto known = symbols_.find(address);
  if (known != symbols_.end()) return known->second;
  Symbol found;
  found.address = address;
  // A return address may lie past the end of a function whose last instruction is the call.
  const uintptr_t inside = address - 1;
  Dl_info info{};
  if (address != 0 && dladdr(reinterpret_cast<void*>(inside), &info) != 0 && info.dli_fname) {
    found.module = info.dli_fname;
    found.offset = inside - reinterpret_cast<uintptr_t>(info.dli_fbase);
    if (info.dli_fbase == ownBase()) {
      const auto& functions = functionsOf(found.module, reinterpret_cast<uintptr_t>(info.dli_fbase));
      const auto after = std::upper_bound(functions.begin(), functions.end(), inside,
                                          [](uintptr_t at, const Function& each) { return at < each.start; });
      if (after != functions.begin() && inside < std::prev(after)->end) {
        found.function = demangle(std::prev(after)->name.c_str());
      }
    } else if (info.dli_sname) {
      found.function = demangle(info.dli_sname);
    }
  }
  return symbols_.emplace(address, std::move(found)).first->second;
}

const std::vector<Symboliser::Function>& Symboliser::functionsOf(const std::string& module, uintptr_t base) {
  const auto known = functions_.find(module);
  if (known != functions_.end()) return known->second;
  std::vector<Function> functions;
  for (const ElfFunction& each : readElfFunctions(module)) {
    functions.push_back({base + each.start, base + each.start + each.bytes, each.name});
  }
  return functions_.emplace(module, std::move(functions)).first->second;
}

#else

const Symbol& Symboliser::symbol(uintptr_t address) {
  Symbol& symbol = symbols_[address];
  symbol.address = address;
  return symbol;
}

#endif

std::string Symboliser::describe(const StackFrames& frames) {
  std::string text;
  for (const uintptr_t frame : frames) {
    if (frame == 0) break;
    const Symbol& at = symbol(frame);
    char offset[32];
    std::snprintf(offset, sizeof offset, "+0x%llx", static_cast<unsigned long long>(at.offset));
    const std::string place = at.module.substr(at.module.find_last_of('/') + 1) + offset;
    text += (text.empty() ? "" : " ← ") + (at.function.empty() ? place : at.function);
  }
  return text;
}

}  // namespace octavo
