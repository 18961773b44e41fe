// From a driver function's name to our wrapper, and from the wrapper to the driver's own function.
#pragma once

#include <atomic>
#include <string_view>

#include "driver/entry_points.h"

namespace octavo::memtrace {

struct EntryRow {
  const char* base;
  const char* symbol;
  int version;
  bool perThread;
  void* wrapper;
};

constexpr size_t kEntries = 0
#define OCTAVO_ENTRY(base, symbol, version, stream, parameters) +1
    OCTAVO_MEMTRACE_ENTRIES(OCTAVO_ENTRY)
#undef OCTAVO_ENTRY
    ;

/** The row of an exported name, or nullptr: it is not traced. */
const EntryRow* rowOfSymbol(std::string_view symbol);

/** The row that cuGetProcAddress means by a base name, the caller's CUDA version and its flags, or nullptr. */
const EntryRow* rowOfBase(std::string_view base, int version, uint64_t flags);

/** Whether `function` is one of our wrappers. */
bool isWrapper(const void* function);

/** Remembers the driver's function and gives the wrapper to hand out in its place. */
void* handOut(const EntryRow& row, void* function);

/** The driver's own function: as last handed out, or found in the loaded driver; nullptr when there is none. */
void* driverFunction(Entry entry);

/** How many of the driver's functions have been handed out as wrappers. */
uint64_t handedOut();

/** Whether a driver was ever called or asked for through the tracer. */
bool driverWasUsed();

}  // namespace octavo::memtrace
