#include "binding/testing/fake_device.h"

#include <cstring>

#include "base/error.h"
#include "device/host_memory.h"
#include "device/host_range.h"

namespace octavo::testing {

namespace {

class FakeEvent final : public Event {
 public:
  explicit FakeEvent(FakeDevice& device) : device_(device) {}
  void record(Stream& stream) override {
    stream_ = static_cast<FakeStream*>(&stream);
    at_ = stream_->enqueued;
  }
  bool query() override {
    ++device_.queries;
    return !stream_ || stream_->done >= at_;
  }
  void synchronize() override {
    if (stream_ && stream_->done < at_) stream_->done = at_;
  }

 private:
  FakeDevice& device_;
  FakeStream* stream_ = nullptr;
  uint64_t at_ = 0;
};

/** The host's addresses, with no more pages than the device has. */
class FakeRange final : public AddressRange {
 public:
  FakeRange(FakeDevice& device, std::unique_ptr<AddressRange> host) : device_(device), host_(std::move(host)) {}
  void* base() const override { return host_->base(); }
  size_t pages() const override { return host_->pages(); }
  bool map(size_t first, size_t count) override {
    return count * kPageBytes <= device_.freeBytes() && host_->map(first, count);
  }
  void unmap(size_t first, size_t count) noexcept override { host_->unmap(first, count); }

 private:
  FakeDevice& device_;
  std::unique_ptr<AddressRange> host_;
};

}  // namespace

FakeDevice::FakeDevice(FakeDeviceOptions options) : elastic_(options.elastic) {
  info_.id = "fake:0";
  info_.name = "a device for tests";
  info_.totalBytes = options.totalBytes;
}

size_t FakeDevice::freeBytes() const {
  const size_t held = held_;
  return held < info_.totalBytes ? info_.totalBytes - held : 0;
}

void* FakeDevice::allocateRaw(size_t bytes) {
  if (bytes > freeBytes()) return nullptr;
  void* const pointer = allocateHost(bytes);
  if (pointer) held_ += bytes;
  return pointer;
}

void FakeDevice::freeRaw(void* pointer, size_t bytes) noexcept {
  if (!pointer) return;
  freeHost(pointer, bytes);
  held_ -= bytes;
}

std::unique_ptr<AddressRange> FakeDevice::reserveAddresses(size_t pages) {
  if (!elastic_) return reserveWholeRange(*this, pages);
  auto host = reserveHostRange(pages, held_);
  if (!host) return nullptr;
  return std::make_unique<FakeRange>(*this, std::move(host));
}

std::unique_ptr<Graph> FakeDevice::capture(Stream&, const std::function<void()>&) {
  throw Error(ErrorCode::kInternal, "the fake device records no graphs");
}

std::unique_ptr<Event> FakeDevice::createEvent() { return std::make_unique<FakeEvent>(*this); }

void FakeDevice::copy(void* to, const void* from, size_t bytes, CopyKind, Stream&) {
  if (bytes > 0) std::memmove(to, from, bytes);
}

void FakeDevice::fill(void* to, uint8_t value, size_t bytes, Stream&) {
  if (bytes > 0) std::memset(to, value, bytes);
}

Ops& FakeDevice::ops() { throw Error(ErrorCode::kInternal, "the device for tests has no kernels"); }

}  // namespace octavo::testing
