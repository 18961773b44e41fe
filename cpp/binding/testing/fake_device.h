// A device whose streams stand still until they are told to go on. Memory is the host's, and as much as was said.
#pragma once

#include <atomic>

#include "device/device.h"

namespace octavo::testing {

/** Work is counted: `enqueue` adds, `advance` finishes, `synchronize` finishes all. */
class FakeStream final : public Stream {
 public:
  void synchronize() override {
    ++synchronized;
    done = enqueued;
  }
  uint64_t enqueued = 0, done = 0, synchronized = 0;
};

struct FakeDeviceOptions {
  size_t totalBytes = 0;
  bool elastic = true;  // false: as a device that cannot map page by page
};

class FakeDevice final : public Device {
 public:
  explicit FakeDevice(FakeDeviceOptions options);
  const DeviceInfo& info() const override { return info_; }
  DeviceMemoryUse memoryUse() override { return {freeBytes(), info_.totalBytes, held_.load()}; }
  void* allocateRaw(size_t bytes) override;
  void freeRaw(void* pointer, size_t bytes) noexcept override;
  std::unique_ptr<AddressRange> reserveAddresses(size_t pages) override;
  void* allocatePinnedRaw(size_t bytes) override { return allocateRaw(bytes); }
  void freePinnedRaw(void* pointer, size_t bytes) noexcept override { freeRaw(pointer, bytes); }
  std::unique_ptr<Stream> createStream() override { return std::make_unique<FakeStream>(); }
  std::unique_ptr<Event> createEvent() override;
  std::unique_ptr<Graph> capture(Stream& stream, const std::function<void()>& record) override;
  void copy(void* to, const void* from, size_t bytes, CopyKind kind, Stream& stream) override;
  void fill(void* to, uint8_t value, size_t bytes, Stream& stream) override;
  Ops& ops() override;
  void verifyKernels() override {}
  bool sharesHostMemory() const override { return true; }
  void synchronize() override {}  // nobody waits for the whole device here

  size_t freeBytes() const;
  uint64_t queries = 0;  // of events: what asks the device

 private:
  DeviceInfo info_;
  bool elastic_;
  std::atomic<size_t> held_{0};
};

}  // namespace octavo::testing
