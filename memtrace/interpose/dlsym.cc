// dlsym and dlvsym: a statically linked CUDA runtime finds even cuGetProcAddress through them, so a wrapper that is
// only exported is never met. Everything that is not a traced name of the driver passes by a tail call: the real dlsym
// looks at its return address to know who asks (RTLD_NEXT, RTLD_DEFAULT), and must see the program's.
#include <dlfcn.h>

#include <atomic>

#include "driver/context.h"
#include "driver/entry_table.h"
#include "driver/wrappers.h"
#include "elf/loaded_object.h"
#include "interpose/libc.h"
#include "report/symbol.h"
#include "stack/walk.h"

namespace octavo::memtrace {

namespace {

using Dlsym = void* (*)(void*, const char*);
using Dlvsym = void* (*)(void*, const char*, const char*);
using Dlclose = int (*)(void*);

template <typename Function>
Function real(std::atomic<void*>& known, const char* name) {
  void* function = known.load(std::memory_order_acquire);
  if (function == nullptr) {
    function = libcFunction(name);
    known.store(function, std::memory_order_release);
  }
  return reinterpret_cast<Function>(function);
}

constinit std::atomic<void*> realDlsym;
constinit std::atomic<void*> realDlvsym;
constinit std::atomic<void*> realDlclose;

const EntryRow* tracedRow(const char* name) { return name == nullptr ? nullptr : rowOfSymbol(name); }

bool isOfDriver(void* function) {
  Dl_info info;
  return dladdr(function, &info) != 0 && isDriverFile(info.dli_fname);
}

/** What to answer for a traced name of which the real lookup found `found`. */
void* answer(const EntryRow& row, void* found) {
  if (found != nullptr && !isWrapper(found)) return isOfDriver(found) ? handOut(row, found) : found;
  if (found == nullptr) return nullptr;
  // A search of all libraries meets our own exports first; they are there only where a driver is.
  const LoadedObject driver = findDriver();
  void* function = driver.found() ? driver.symbol(row.symbol) : nullptr;
  return function == nullptr ? nullptr : handOut(row, function);
}

}  // namespace

extern "C" {

OCTAVO_EXPORT void* dlsym(void* handle, const char* name) {
  const auto next = real<Dlsym>(realDlsym, "dlsym");
  const EntryRow* row = tracedRow(name);
  if (row == nullptr) return next(handle, name);
  void* function = answer(*row, next(handle, name));
  if (function == nullptr) next(RTLD_NEXT, name);  // for dlerror
  return function;
}

OCTAVO_EXPORT void* dlvsym(void* handle, const char* name, const char* version) {
  const auto next = real<Dlvsym>(realDlvsym, "dlvsym");
  const EntryRow* row = tracedRow(name);
  if (row == nullptr) return next(handle, name, version);
  return answer(*row, next(handle, name, version));
}

OCTAVO_EXPORT int dlclose(void* handle) {
  const int result = real<Dlclose>(realDlclose, "dlclose")(handle);
  forgetDriver();
  forgetCode();
  forgetSymbols();
  return result;
}

}  // extern "C"

}  // namespace octavo::memtrace
