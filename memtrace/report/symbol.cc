#include "report/symbol.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/auxv.h>

#include <new>

#include "base/hash_map.h"
#include "base/list.h"
#include "base/spin_lock.h"
#include "elf/symbol_file.h"

namespace octavo::memtrace {

namespace {

constexpr int kPatience = 100;

struct OpenFile {
  uint64_t base;
  SymbolFile symbols;
};

constinit SpinLock lock;
constinit List<OpenFile> files;
constinit HashMap<Symbol> known;

/** The program's own file under the one name that holds whatever its folder was. */
const char* pathOf(const Dl_info& info) {
  const auto base = reinterpret_cast<uint64_t>(info.dli_fbase);
  const uint64_t headers = getauxval(AT_PHDR);
  return headers >= base && headers - base < 4096 ? "/proc/self/exe" : info.dli_fname;
}

const SymbolFile& fileOf(const Dl_info& info) {
  static constexpr SymbolFile kNone;
  const auto base = reinterpret_cast<uint64_t>(info.dli_fbase);
  for (const auto& file : files) {
    if (file.base == base) return file.symbols;
  }
  return files.add({base, SymbolFile::open(pathOf(info))}) ? files[files.size() - 1].symbols : kNone;
}

Symbol lookUp(uint64_t address) {
  Dl_info info;
  const uint64_t call = address - 1;
  if (dladdr(reinterpret_cast<void*>(call), &info) == 0) return {"", 0, nullptr, 0};
  const auto base = reinterpret_cast<uint64_t>(info.dli_fbase);
  Symbol symbol{info.dli_fname == nullptr ? "" : info.dli_fname, address - base, info.dli_sname, 0};
  if (symbol.name != nullptr) {
    symbol.offset = address - reinterpret_cast<uint64_t>(info.dli_saddr);
    return symbol;
  }
  const auto found = fileOf(info).find(call, base);
  symbol.name = found.name;
  symbol.offset = found.offset + 1;
  return symbol;
}

}  // namespace

Symbol symbolAt(uint64_t address) {
  const Hold hold(lock, kPatience);
  if (!hold.held()) return {"", 0, nullptr, 0};
  const Symbol* before = known.find(address);
  if (before != nullptr) return *before;
  const Symbol symbol = lookUp(address);
  known.put(address, symbol);
  return symbol;
}

void forgetSymbols() {
  const Hold hold(lock);
  known.clear();
  files.clear();
}

void abandonSymbols() {
  new (&lock) SpinLock();
  known = {};
  files = {};
}

void addName(Text& text, const char* name, bool mayAllocate) {
  int status = -1;
  char* plain = mayAllocate ? abi::__cxa_demangle(name, nullptr, nullptr, &status) : nullptr;
  text.add(status == 0 ? plain : name);
  free(plain);
}

}  // namespace octavo::memtrace
