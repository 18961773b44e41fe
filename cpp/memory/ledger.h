// Who owns which bytes: region × owner × tag, exact at all times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/spin_lock.h"

namespace octavo {

class MemoryTrace;

/** A named share of memory with a limit. kPinned is host memory locked for the device. */
enum class Region : uint8_t { kWeights, kKv, kGraph, kWorkspace, kPinned };
constexpr int kRegionCount = 5;
const char* regionName(Region region);  // "weights" …

enum class OwnerKind : uint8_t { kEngine, kSession, kRequest, kAdapter, kGraph };
constexpr int kOwnerKindCount = 5;
const char* ownerKindName(OwnerKind kind);

struct Owner {
  OwnerKind kind = OwnerKind::kEngine;
  uint64_t id = 0;
  auto operator<=>(const Owner&) const = default;
};

struct LedgerLine {
  Region region;
  Owner owner;
  std::string tag;
  size_t bytes = 0;
  size_t peakBytes = 0;
  uint64_t count = 0;  // live allocations or blocks
};

class Ledger;

/**
 * A line looked up once, so that updates need no name. Keeps the line's place, not its bytes: an empty line is not
 * shown. Move-only; must not outlive the ledger.
 */
class LineHandle {
 public:
  LineHandle() = default;
  LineHandle(LineHandle&& other) noexcept : line_(std::exchange(other.line_, nullptr)) {}
  LineHandle& operator=(LineHandle&& other) noexcept;
  ~LineHandle() {
    if (line_) release();
  }
  explicit operator bool() const { return line_ != nullptr; }
  Region region() const;
  Owner owner() const;
  /** Valid as long as the handle. */
  std::string_view tag() const;
  void release() noexcept;

 private:
  friend class CachedLine;
  friend class Ledger;
  explicit LineHandle(void* line) : line_(line) {}
  void* line_ = nullptr;  // LedgerTable::Line
};

/**
 * The live table. All methods are thread-safe; updates are O(1), by handle a few nanoseconds, by name a look-up more.
 * A line whose bytes and count return to zero is removed.
 * Bytes enter by `add` (the allocator), move between owners by `transfer` (KV blocks), leave by `remove`.
 * `remove` and `transfer` of more than a line holds throw kInternal and change nothing.
 */
class Ledger {
 public:
  Ledger();
  ~Ledger();
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  void add(Region region, Owner owner, const std::string& tag, size_t bytes, uint64_t count = 1);
  void remove(Region region, Owner owner, const std::string& tag, size_t bytes, uint64_t count = 1);
  /** Moves bytes between two owners of the same region; the region's total never changes. */
  void transfer(Region region, Owner from, const std::string& fromTag, Owner to, const std::string& toTag,
                size_t bytes, uint64_t count);
  /** The same where the pieces are counted differently on the two sides: one allocation becomes many blocks. */
  void transfer(Region region, Owner from, const std::string& fromTag, Owner to, const std::string& toTag,
                size_t bytes, uint64_t fromCount, uint64_t toCount);

  /** The line of that name, present or not. */
  LineHandle line(Region region, const Owner& owner, std::string_view tag);
  void add(const LineHandle& line, size_t bytes, uint64_t count = 1);
  void remove(const LineHandle& line, size_t bytes, uint64_t count = 1);
  void transfer(const LineHandle& from, const LineHandle& to, size_t bytes, uint64_t fromCount, uint64_t toCount);
  /** Transfers to the line of that name, and gives its handle: look-up and update under one lock. */
  LineHandle transfer(const LineHandle& from, const Owner& to, std::string_view toTag, size_t bytes,
                      uint64_t fromCount, uint64_t toCount);
  /** The way back: `from` is released with it, unless this throws. */
  void transfer(LineHandle&& from, const LineHandle& to, size_t bytes, uint64_t fromCount, uint64_t toCount);

  /** What is held, sorted by region, owner and tag. */
  std::vector<LedgerLine> lines() const;
  size_t regionBytes(Region region) const;
  size_t regionPeakBytes(Region region) const;
  size_t ownerBytes(Owner owner) const;
  /** Transfers are recorded there from now on; it must outlive the ledger. */
  void traceWith(MemoryTrace& trace) { trace_ = &trace; }
  /** Throws kInternal when region totals and lines disagree. */
  void check() const;

 private:
  friend class CachedLine;
  friend class LineHandle;
  void enter(Region region, size_t bytes);
  /** `line`: LedgerTable::Line. */
  [[noreturn]] static void refuse(const void* line, size_t bytes, uint64_t count);
  void drop(void* line) noexcept;

  mutable SpinLock lock_;
  MemoryTrace* trace_ = nullptr;
  std::unique_ptr<class LedgerTable> table_;
  size_t region_[kRegionCount] = {};
  size_t regionPeak_[kRegionCount] = {};
};

}  // namespace octavo
