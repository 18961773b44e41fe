#include "driver/entry_table.h"

#include "driver/wrappers.h"
#include "elf/loaded_object.h"

namespace octavo::memtrace {

namespace {

constexpr bool legacy = false;
constexpr bool perThread = true;

const EntryRow kRows[kEntries] = {
#define OCTAVO_ENTRY(base, symbol, version, stream, parameters) \
  {#base, #symbol, version, stream, reinterpret_cast<void*>(&symbol)},
    OCTAVO_MEMTRACE_ENTRIES(OCTAVO_ENTRY)
#undef OCTAVO_ENTRY
};

constinit std::atomic<void*> functions[kEntries];
constinit std::atomic<bool> used{false};

}  // namespace

const EntryRow* rowOfSymbol(std::string_view symbol) {
  if (!symbol.starts_with("cu")) return nullptr;
  for (const auto& row : kRows) {
    if (symbol == row.symbol) return &row;
  }
  return nullptr;
}

const EntryRow* rowOfBase(std::string_view base, int version, uint64_t flags) {
  const EntryRow* found = nullptr;
  for (const auto& row : kRows) {
    if (base != row.base || row.version > version) continue;
    if (row.perThread && (flags & kPerThreadDefaultStream) == 0) continue;
    if (found == nullptr || row.version > found->version || row.perThread) found = &row;
  }
  return found != nullptr ? found : rowOfSymbol(base);
}

bool isWrapper(const void* function) {
  for (const auto& row : kRows) {
    if (function == row.wrapper) return true;
  }
  return false;
}

void* handOut(const EntryRow& row, void* function) {
  functions[&row - kRows].store(function, std::memory_order_release);
  used.store(true, std::memory_order_relaxed);
  return row.wrapper;
}

void* driverFunction(Entry entry) {
  auto& function = functions[static_cast<size_t>(entry)];
  if (void* known = function.load(std::memory_order_acquire)) return known;
  // Called by plain linking: nobody has asked for it by name.
  const LoadedObject driver = findDriver();
  void* found = driver.found() ? driver.symbol(kRows[static_cast<size_t>(entry)].symbol) : nullptr;
  if (found != nullptr) handOut(kRows[static_cast<size_t>(entry)], found);
  return found;
}

uint64_t handedOut() {
  uint64_t count = 0;
  for (const auto& function : functions) count += function.load(std::memory_order_relaxed) != nullptr;
  return count;
}

bool driverWasUsed() { return used.load(std::memory_order_relaxed); }

}  // namespace octavo::memtrace
