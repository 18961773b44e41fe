#include "memory/page_range.h"

#include <algorithm>

#include "base/error.h"

namespace octavo {

PageRange PageRange::reserve(DeviceAllocator& allocator, Region region, size_t pages, Owner owner,
                             const std::string& tag) {
  if (pages == 0) {
    throw Error(ErrorCode::kInvalidArgument,
                std::string("region ") + regionName(region) + ": asked 0 pages for " + tag + "; ask at least 1");
  }
  std::unique_ptr<AddressRange> range;
  if (!allocator.isToldToFail(region)) range = allocator.device().reserveAddresses(pages);
  if (!range) throw allocator.deviceRefusal(region, pages * kPageBytes);
  return {allocator, std::move(range), region, owner, tag};
}

PageRange::PageRange(DeviceAllocator& allocator, std::unique_ptr<AddressRange> range, Region region, Owner owner,
                     const std::string& tag)
    : allocator_(allocator.shared_from_this()),
      range_(std::move(range)),
      region_(region),
      owner_(owner),
      tag_(tag),
      mapped_(range_->pages(), false) {
  if (elastic()) return;
  allocator_->charge(region_, pages() * kPageBytes, owner_, tag_, pages());
  allocator_->trace().segmentMapped(region_, base(), pages() * kPageBytes, owner_, tag_);
}

PageRange::~PageRange() {
  if (!range_) return;  // moved from
  if (elastic()) {
    unmap(0, pages());
    return;
  }
  const size_t held = pages();
  allocator_->trace().segmentUnmapped(region_, base(), held * kPageBytes, owner_, tag_);
  range_.reset();
  refund(held);
}

void PageRange::map(size_t first, size_t count) {
  if (count == 0) return;
  requireUnmapped(first, count);
  if (elastic()) {
    allocator_->charge(region_, count * kPageBytes, owner_, tag_, count);
    try {
      if (allocator_->isToldToFail(region_) || !range_->map(first, count)) {
        throw allocator_->deviceRefusal(region_, count * kPageBytes);
      }
    } catch (...) {
      refund(count);
      throw;
    }
    allocator_->trace().segmentMapped(region_, addressOf(first), count * kPageBytes, owner_, tag_);
  }
  std::fill_n(mapped_.begin() + static_cast<int64_t>(first), count, true);
  mappedPages_ += count;
}

void PageRange::unmap(size_t first, size_t count) noexcept {
  const size_t end = first + std::min(count, pages() - std::min(first, pages()));
  for (size_t page = first; page < end; ++page) {
    if (!mapped_[page]) continue;
    const size_t start = page;  // of a mapped run, given back in one call
    while (page < end && mapped_[page]) mapped_[page++] = false;
    const size_t run = page - start;
    if (elastic()) allocator_->trace().segmentUnmapped(region_, addressOf(start), run * kPageBytes, owner_, tag_);
    range_->unmap(start, run);
    mappedPages_ -= run;
    if (elastic()) refund(run);
  }
}

void PageRange::check() const {
  const auto counted = static_cast<size_t>(std::count(mapped_.begin(), mapped_.end(), true));
  if (counted == mappedPages_) return;
  throw Error(ErrorCode::kInternal, "page range " + tag_ + " counts " + std::to_string(mappedPages_) +
                                        " mapped pages; " + std::to_string(counted) + " are marked");
}

void PageRange::requireUnmapped(size_t first, size_t count) const {
  const bool within = first <= pages() && count <= pages() - first;
  const auto begin = mapped_.begin() + static_cast<int64_t>(within ? first : 0);
  const auto end = begin + static_cast<int64_t>(within ? count : 0);
  if (within && std::find(begin, end, true) == end) return;
  throw Error(ErrorCode::kInternal, "page range " + tag_ + ": cannot map pages " + std::to_string(first) + " to " +
                                        std::to_string(first + count) + " of " + std::to_string(pages()) +
                                        (within ? ": one is mapped already" : ": there are no such pages"));
}

void PageRange::refund(size_t pages) noexcept {
  allocator_->refund(region_, pages * kPageBytes, owner_, tag_, pages);
}

}  // namespace octavo
