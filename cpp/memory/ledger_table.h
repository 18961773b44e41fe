// The lines of a ledger: found by name in a few nanoseconds, gone when they hold nothing. Private to the ledger.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <unordered_map>

#include "memory/ledger.h"

namespace octavo {

/**
 * Not thread-safe: the ledger's lock guards it. A line stays while it holds something, while a handle points at it,
 * or while it is among the recently used ones; so an owner that frees its last byte and allocates again does not
 * pay for a new line.
 */
class LedgerTable {
 public:
  struct Key {
    Region region;
    Owner owner;
    std::string_view tag;
    bool operator==(const Key& other) const { return is(other.region, other.owner, other.tag); }
    bool is(Region otherRegion, const Owner& otherOwner, std::string_view otherTag) const;
  };
  struct Line {
    Key key;  // its tag is interned
    Ledger* ledger;
    size_t bytes = 0, peakBytes = 0;
    uint64_t count = 0;
    uint64_t handles = 0;
    bool recent = false;
    bool isEmpty() const { return bytes == 0 && count == 0; }
  };

  explicit LedgerTable(Ledger& ledger) : ledger_(ledger) {}

  /** The line of that name; made empty where there is none. Throws std::bad_alloc, changing nothing. */
  Line& at(Region region, const Owner& owner, std::string_view tag) {
    Line* const line = find(region, owner, tag);
    return line ? *line : create({region, owner, tag});
  }
  /** nullptr where there is none. */
  Line* find(Region region, const Owner& owner, std::string_view tag) {
    // Field by field: a key made here would be written in halves and read whole, which stalls.
    Line* const recent = recent_[placeOf(region, owner, tag)];
    return recent && recent->key.is(region, owner, tag) ? recent : findAny({region, owner, tag});
  }
  /** Removes the line if nothing needs it any more. */
  void settle(Line& line) noexcept;

  /** Calls `visit` with every line that holds something. */
  template <typename Visit>
  void eachLive(const Visit& visit) const {
    for (const auto& [key, line] : lines_) {
      if (!line.isEmpty()) visit(line);
    }
  }
  /** Throws kInternal where tags and lines disagree. */
  void check() const;

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(const Key& key) const;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  using Tags = std::unordered_map<std::string, uint64_t, Hash, std::equal_to<>>;

  static size_t placeOf(Region region, const Owner& owner, std::string_view tag);
  static size_t placeOf(const Key& key) { return placeOf(key.region, key.owner, key.tag); }
  Line* findAny(const Key& key);
  Line& create(const Key& key);
  void remember(Line& line) noexcept;

  Ledger& ledger_;
  std::unordered_map<Key, Line, Hash> lines_;
  Tags tags_;                        // → lines that carry it
  std::array<Line*, 64> recent_{};   // by placeOf; the way of most look-ups
};

}  // namespace octavo
