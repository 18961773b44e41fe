#include "driver/context.h"

#include <atomic>

#include "elf/loaded_object.h"

namespace octavo::memtrace {

namespace {

constexpr Device kDevices = 64;

constinit std::atomic<uint64_t> primaries[kDevices];
constinit std::atomic<void*> getCurrent;
constinit std::atomic<void*> getPrimaryState;

/** Stands for a function that the driver has been searched for in vain. */
char missing;

/** Functions that are only asked, never traced; nullptr where the driver has none. */
void* ask(std::atomic<void*>& function, const char* name) {
  void* known = function.load(std::memory_order_acquire);
  if (known == nullptr) {
    const LoadedObject driver = findDriver();
    known = driver.found() ? driver.symbol(name) : nullptr;
    if (known == nullptr) known = &missing;
    function.store(known, std::memory_order_release);
  }
  return known == &missing ? nullptr : known;
}

}  // namespace

uint64_t currentContext() {
  auto* function = reinterpret_cast<Result (*)(Context*)>(ask(getCurrent, "cuCtxGetCurrent"));
  Context context = nullptr;
  if (function == nullptr || function(&context) != kSuccess) return 0;
  return reinterpret_cast<uintptr_t>(context);
}

bool isPrimaryActive(Device device) {
  auto* function =
      reinterpret_cast<Result (*)(Device, unsigned*, int*)>(ask(getPrimaryState, "cuDevicePrimaryCtxGetState"));
  unsigned flags = 0;
  int active = 0;
  return function != nullptr && function(device, &flags, &active) == kSuccess && active != 0;
}

void forgetDriver() {
  getCurrent.store(nullptr);
  getPrimaryState.store(nullptr);
}

uint64_t primaryContext(Device device) { return device < 0 || device >= kDevices ? 0 : primaries[device].load(); }

void rememberPrimary(Device device, uint64_t context) {
  if (device >= 0 && device < kDevices) primaries[device].store(context);
}

}  // namespace octavo::memtrace
