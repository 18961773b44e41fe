#include "device/host_range.h"

#include "device/device.h"
#include "device/host_limits.h"

#if !defined(_WIN32)
#include <sys/mman.h>
#endif

namespace octavo {

namespace {

#if !defined(_WIN32)
class HostRange final : public AddressRange {
 public:
  HostRange(char* base, size_t offset, size_t pages, std::atomic<size_t>& total)
      : reserved_(base), base_(base + offset), pages_(pages), total_(total) {}
  ~HostRange() override {
    munmap(reserved_, reservedBytes(pages_));
    total_ -= mappedPages_ * kPageBytes;
  }

  /** One page more than asked, so that an aligned start is in it. */
  static size_t reservedBytes(size_t pages) { return (pages + 1) * kPageBytes; }

  void* base() const override { return base_; }
  size_t pages() const override { return pages_; }

  bool map(size_t first, size_t count) override {
    // The kernel promises more than it has: ask before, or the process is killed when the pages are touched.
    if (count * kPageBytes > hostMemory().freeBytes) return false;
    if (!place(first, count, PROT_READ | PROT_WRITE, 0)) return false;
    mappedPages_ += count;
    total_ += count * kPageBytes;
    return true;
  }

  void unmap(size_t first, size_t count) noexcept override {
    place(first, count, PROT_NONE, MAP_NORESERVE);
    mappedPages_ -= count;
    total_ -= count * kPageBytes;
  }

 private:
  /** Puts fresh, empty pages where others were: what they held goes back to the system. */
  bool place(size_t first, size_t count, int protection, int flags) noexcept {
    void* const at = base_ + first * kPageBytes;
    const int all = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | flags;
    return mmap(at, count * kPageBytes, protection, all, -1, 0) != MAP_FAILED;
  }

  char* reserved_;
  char* base_;
  size_t pages_;
  size_t mappedPages_ = 0;
  std::atomic<size_t>& total_;
};
#endif

class WholeRange final : public AddressRange {
 public:
  WholeRange(Device& device, void* raw, size_t pages) : device_(device), raw_(raw), pages_(pages) {}
  ~WholeRange() override { device_.freeRaw(raw_, pages_ * kPageBytes); }

  void* base() const override { return raw_; }
  size_t pages() const override { return pages_; }
  bool map(size_t, size_t) override { return true; }
  void unmap(size_t, size_t) noexcept override {}
  bool elastic() const override { return false; }

 private:
  Device& device_;
  void* raw_;
  size_t pages_;
};

}  // namespace

std::unique_ptr<AddressRange> reserveHostRange(size_t pages, std::atomic<size_t>& mapped) {
#if defined(_WIN32)
  (void)pages;
  (void)mapped;
  return nullptr;
#else
  if (pages == 0 || pages >= SIZE_MAX / kPageBytes) return nullptr;
  const size_t bytes = HostRange::reservedBytes(pages);
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* const reserved = mmap(nullptr, bytes, PROT_NONE, flags, -1, 0);
  if (reserved == MAP_FAILED) return nullptr;
  const size_t past = reinterpret_cast<uintptr_t>(reserved) % kPageBytes;
  const size_t offset = past == 0 ? 0 : kPageBytes - past;
  return std::make_unique<HostRange>(static_cast<char*>(reserved), offset, pages, mapped);
#endif
}

std::unique_ptr<AddressRange> reserveWholeRange(Device& device, size_t pages) {
  if (pages == 0 || pages > SIZE_MAX / kPageBytes) return nullptr;
  void* const raw = device.allocateRaw(pages * kPageBytes);
  return raw ? std::make_unique<WholeRange>(device, raw, pages) : nullptr;
}

}  // namespace octavo
