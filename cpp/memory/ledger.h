// Who owns which bytes: region × owner × tag, exact at all times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

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

/**
 * The live table. All methods are thread-safe. A line whose bytes and count return to zero is removed.
 * Bytes enter by `add` (the allocator), move between owners by `transfer` (KV blocks), leave by `remove`.
 * `remove` and `transfer` of more than a line holds throw kInternal and change nothing.
 */
class Ledger {
 public:
  void add(Region region, Owner owner, const std::string& tag, size_t bytes, uint64_t count = 1);
  void remove(Region region, Owner owner, const std::string& tag, size_t bytes, uint64_t count = 1);
  /** Moves bytes between two owners of the same region; the region's total never changes. */
  void transfer(Region region, Owner from, const std::string& fromTag, Owner to, const std::string& toTag,
                size_t bytes, uint64_t count);
  /** The same where the pieces are counted differently on the two sides: one allocation becomes many blocks. */
  void transfer(Region region, Owner from, const std::string& fromTag, Owner to, const std::string& toTag,
                size_t bytes, uint64_t fromCount, uint64_t toCount);
  std::vector<LedgerLine> lines() const;
  size_t regionBytes(Region region) const;
  size_t regionPeakBytes(Region region) const;
  size_t ownerBytes(Owner owner) const;
  /** Transfers are recorded there from now on; it must outlive the ledger. */
  void traceWith(MemoryTrace& trace) { trace_ = &trace; }
  /** Throws kInternal when region totals and lines disagree. */
  void check() const;

 private:
  struct Key {
    Region region;
    Owner owner;
    std::string tag;
    auto operator<=>(const Key&) const = default;
  };
  struct Entry { size_t bytes = 0, peak = 0; uint64_t count = 0; };
  using Entries = std::map<Key, Entry>;
  Entries::iterator find(const Key& key, size_t bytes, uint64_t count);
  static void put(Entry& entry, size_t bytes, uint64_t count);
  void take(Entries::iterator line, size_t bytes, uint64_t count);

  mutable std::mutex mutex_;
  MemoryTrace* trace_ = nullptr;
  Entries entries_;
  size_t region_[kRegionCount] = {};
  size_t regionPeak_[kRegionCount] = {};
};

}  // namespace octavo
