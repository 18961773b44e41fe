#include "scripts/bench/native/host/still_device.h"

#include <sys/mman.h>

#include <algorithm>

#include "base/clock.h"

namespace octavo::bench {

namespace {

constexpr size_t kTotalBytes = size_t{141} << 30;

int64_t now() { return SteadyClock().now(); }

void spinUntil(int64_t end) {
  while (now() < end) __builtin_ia32_pause();
}

/** Done when the last step that was recorded is; where none ever was, a step after somebody waits. */
class StillStream final : public Stream {
 public:
  StillStream(StillDevice::Counts& counts, int64_t step) : counts_(counts), step_(step) {}
  void synchronize() override {
    ++counts_.waits;
    spinUntil(end > 0 ? end : now() + step_);
  }
  int64_t end = 0;

 private:
  StillDevice::Counts& counts_;
  int64_t step_;
};

/** What was enqueued until it is recorded is one step. */
class StillEvent final : public Event {
 public:
  StillEvent(StillDevice::Counts& counts, int64_t step) : counts_(counts), step_(step) {}
  void record(Stream& stream) override {
    ++counts_.records;
    int64_t& end = static_cast<StillStream&>(stream).end;
    end = end_ = std::max(end, now()) + step_;
  }
  bool query() override { return now() >= end_; }
  void synchronize() override {
    ++counts_.waits;
    spinUntil(end_);
  }

 private:
  StillDevice::Counts& counts_;
  int64_t step_, end_ = 0;
};

class StillGraph final : public Graph {
 public:
  StillGraph(StillDevice::Counts& counts, size_t nodes) : counts_(counts), nodes_(nodes) {}
  void launch(Stream&) override { ++counts_.replays; }
  size_t nodes() const override { return nodes_; }

 private:
  StillDevice::Counts& counts_;
  size_t nodes_;
};

void* takeAddresses(size_t bytes) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* const taken = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  return taken == MAP_FAILED ? nullptr : taken;
}

class StillRange final : public AddressRange {
 public:
  StillRange(void* raw, size_t pages, std::atomic<size_t>& held, uint64_t& maps)
      : raw_(raw), pages_(pages), held_(held), maps_(maps) {}
  ~StillRange() override {
    munmap(raw_, (pages_ + 1) * kPageBytes);
    held_ -= mapped_ * kPageBytes;
  }
  void* base() const override {
    return reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(raw_) + kPageBytes - 1) / kPageBytes * kPageBytes);
  }
  size_t pages() const override { return pages_; }
  bool map(size_t, size_t count) override {
    ++maps_;
    mapped_ += count;
    held_ += count * kPageBytes;
    return true;
  }
  void unmap(size_t, size_t count) noexcept override {
    mapped_ -= count;
    held_ -= count * kPageBytes;
  }

 private:
  void* raw_;
  size_t pages_, mapped_ = 0;
  std::atomic<size_t>& held_;
  uint64_t& maps_;
};

}  // namespace

StillDevice::StillDevice(int64_t stepNanoseconds) : stepNanoseconds_(stepNanoseconds) {
  info_.id = "still";
  info_.name = "a device that does nothing";
  info_.computeMajor = 9;
  info_.multiprocessors = 132;
  info_.totalBytes = kTotalBytes;
}

DeviceMemoryUse StillDevice::memoryUse() { return {kTotalBytes - held_, kTotalBytes, held_.load()}; }

void* StillDevice::allocateRaw(size_t bytes) {
  void* const taken = takeAddresses(bytes);
  if (taken) held_ += bytes;
  return taken;
}

void StillDevice::freeRaw(void* pointer, size_t bytes) noexcept {
  if (!pointer) return;
  munmap(pointer, bytes);
  held_ -= bytes;
}

std::unique_ptr<AddressRange> StillDevice::reserveAddresses(size_t pages) {
  void* const raw = takeAddresses((pages + 1) * kPageBytes);
  return raw ? std::make_unique<StillRange>(raw, pages, held_, counts.maps) : nullptr;
}

std::unique_ptr<Stream> StillDevice::createStream() { return std::make_unique<StillStream>(counts, stepNanoseconds_); }

std::unique_ptr<Event> StillDevice::createEvent() { return std::make_unique<StillEvent>(counts, stepNanoseconds_); }

std::unique_ptr<Graph> StillDevice::capture(Stream&, const std::function<void()>& record) {
  const uint64_t before = ops_.calls;
  record();
  return std::make_unique<StillGraph>(counts, ops_.calls - before);
}

}  // namespace octavo::bench
