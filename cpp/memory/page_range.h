// Reserved addresses whose mapped pages are in the ledger and count against a region's limit.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "memory/allocator.h"

namespace octavo {

/**
 * Pages of one owner under one tag: the ledger line counts mapped pages, and holds their bytes. Destroying it gives
 * everything back. Not thread-safe. Where the device cannot map piecemeal (`elastic()` is false) the whole range is
 * held and charged from reservation to destruction, and `map` only notes what is in use.
 */
class PageRange {
 public:
  /** Addresses for `pages` pages. Throws kOutOfMemory (limit or device, with both numbers), kInvalidArgument for 0. */
  static PageRange reserve(DeviceAllocator& allocator, Region region, size_t pages, Owner owner,
                           const std::string& tag);
  /** The same over addresses that are reserved already. Throws kOutOfMemory when an inelastic one passes the limit. */
  PageRange(DeviceAllocator& allocator, std::unique_ptr<AddressRange> range, Region region, Owner owner,
            const std::string& tag);
  PageRange(PageRange&&) noexcept = default;
  PageRange& operator=(PageRange&&) = delete;
  ~PageRange();

  void* base() const { return range_->base(); }
  /** Length of the range. */
  size_t pages() const { return mapped_.size(); }
  size_t mappedPages() const { return mappedPages_; }
  bool isMapped(size_t page) const { return mapped_[page]; }
  bool elastic() const { return range_->elastic(); }

  /**
   * Backs pages [first, first + count), none of which is mapped, with memory; their bytes are undefined. All or
   * nothing: throws kOutOfMemory (limit, held, asked; or what the device has left), kInternal for pages outside the
   * range or mapped already.
   */
  void map(size_t first, size_t count);
  /** Gives back what is mapped of pages [first, first + count). The device must have finished with them. */
  void unmap(size_t first, size_t count) noexcept;
  /** Throws kInternal when the count of mapped pages is not that of the pages. */
  void check() const;

 private:
  void requireUnmapped(size_t first, size_t count) const;
  void refund(size_t pages) noexcept;
  char* addressOf(size_t page) const { return static_cast<char*>(base()) + page * kPageBytes; }

  std::shared_ptr<DeviceAllocator> allocator_;
  std::unique_ptr<AddressRange> range_;
  Region region_;
  Owner owner_;
  std::string tag_;
  std::vector<bool> mapped_;
  size_t mappedPages_ = 0;
};

}  // namespace octavo
