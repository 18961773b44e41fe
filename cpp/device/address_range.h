// Reserved addresses that physical pages are mapped into and taken out of.
#pragma once

#include <cstddef>

namespace octavo {

/** Physical device memory is taken and given back in these (2 MiB, the granularity of cuMemCreate on our cards). */
constexpr size_t kPageBytes = size_t{2} << 20;

/**
 * One contiguous range of addresses; costs no memory until pages are mapped. Not thread-safe. Destroying it
 * unmaps every page and gives the addresses back.
 */
class AddressRange {
 public:
  virtual ~AddressRange() = default;
  /** Aligned to a page where elastic, to 256 bytes where not; constant for life. */
  virtual void* base() const = 0;
  /** Length of the range in pages. */
  virtual size_t pages() const = 0;
  /**
   * Backs pages [first, first + count), none of which is mapped, with physical memory. All or nothing: false
   * when the device has no more. New pages hold undefined bytes. Throws kDeviceFailed for any other failure.
   */
  virtual bool map(size_t first, size_t count) = 0;
  /** Gives the memory of mapped pages [first, first + count) back. The device must have finished with them. */
  virtual void unmap(size_t first, size_t count) noexcept = 0;
  /** False where the device cannot map piecemeal: the memory is held from reservation to destruction. */
  virtual bool elastic() const { return true; }
};

}  // namespace octavo
