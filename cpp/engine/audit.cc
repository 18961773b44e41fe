#include "engine/audit.h"

#include "engine/engine_state.h"

namespace octavo {

size_t countedBytes(const DeviceMemoryUse& use) {
  return use.processBytes.value_or(use.totalBytes - use.freeBytes);
}

size_t Engine::State::deviceBytes() const {
  size_t bytes = 0;
  for (int index = 0; index < kRegionCount; ++index) {
    const auto region = static_cast<Region>(index);
    if (region != Region::kPinned) bytes += allocator->statistics(region).allocatedBytes;
  }
  return bytes;
}

MemoryAudit Engine::audit() const {
  const std::lock_guard lock(state_->mutex);
  state_->requireOpen();
  DeviceAllocator& allocator = *state_->allocator;
  allocator.device().synchronize();
  MemoryAudit audit;
  audit.ledgerTime = state_->clock->now();
  for (int index = 0; index < kRegionCount; ++index) {
    const auto region = static_cast<Region>(index);
    audit.regions[index] = {state_->plan.regionBytes(region), allocator.statistics(region).allocatedBytes, 0};
  }
  for (const LedgerLine& line : allocator.ledger().lines()) {
    audit.regions[static_cast<size_t>(line.region)].ledgerBytes += line.bytes;
  }
  audit.driver = allocator.device().memoryUse();
  audit.driverTime = state_->clock->now();
  audit.contextBytes = state_->contextBytes;
  audit.driverBytes = countedBytes(audit.driver);
  audit.deviceBytes = state_->deviceBytes();
  audit.residualBytes = static_cast<int64_t>(audit.driverBytes) - static_cast<int64_t>(audit.contextBytes) -
                        static_cast<int64_t>(audit.deviceBytes);
  audit.limitBytes = state_->options.memoryLimit;
  audit.mappedResidentBytes = state_->weights->mappedResidentBytes();
  return audit;
}

}  // namespace octavo
