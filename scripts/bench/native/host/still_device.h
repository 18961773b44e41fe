// A device like a card, whose work is done when its time has passed: of no driver, and with memory that nobody touches.
#pragma once

#include <atomic>
#include <memory>

#include "device/device.h"
#include "scripts/bench/native/host/still_ops.h"

namespace octavo::bench {

/**
 * Addresses are the system's, without memory behind them until somebody writes: a model of any size fits. What is
 * sampled reads as zero: token 0, with a log-probability of 0. A step takes `stepNanoseconds` from its last op or replay
 * on; who waits for it spins, as the driver does.
 */
class StillDevice final : public Device {
 public:
  explicit StillDevice(int64_t stepNanoseconds);
  const DeviceInfo& info() const override { return info_; }
  DeviceMemoryUse memoryUse() override;
  void* allocateRaw(size_t bytes) override;
  void freeRaw(void* pointer, size_t bytes) noexcept override;
  std::unique_ptr<AddressRange> reserveAddresses(size_t pages) override;
  void* allocatePinnedRaw(size_t bytes) override { return allocateRaw(bytes); }
  void freePinnedRaw(void* pointer, size_t bytes) noexcept override { freeRaw(pointer, bytes); }
  std::unique_ptr<Stream> createStream() override;
  std::unique_ptr<Event> createEvent() override;
  std::unique_ptr<Graph> capture(Stream& stream, const std::function<void()>& record) override;
  void copy(void*, const void*, size_t, CopyKind, Stream&) override { ++counts.copies; }
  void fill(void*, uint8_t, size_t, Stream&) override { ++counts.copies; }
  void synchronize() override {}
  StillOps& ops() override { return ops_; }
  void verifyKernels() override {}

  /** Calls that would be the driver's. Read them while nothing runs. */
  struct Counts {
    uint64_t copies = 0, replays = 0, records = 0, waits = 0, maps = 0;
  };
  Counts counts;

 private:
  DeviceInfo info_;
  int64_t stepNanoseconds_;
  std::atomic<size_t> held_{0};
  StillOps ops_;
};

}  // namespace octavo::bench
