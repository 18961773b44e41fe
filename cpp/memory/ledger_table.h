// The lines of a ledger: found by name in a few nanoseconds, gone when they hold nothing. Private to the ledger.
#pragma once

#include <array>
#include <cstring>
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
    bool is(Region otherRegion, const Owner& otherOwner, std::string_view otherTag) const {
      return region == otherRegion && owner.id == otherOwner.id && owner.kind == otherOwner.kind &&
             isSame(tag, otherTag);
    }
  };
  struct Line {
    Key key;  // its tag is interned
    Ledger* ledger;
    size_t bytes = 0, peakBytes = 0;
    uint64_t count = 0;
    uint64_t handles = 0;
    bool recent = false;
    bool isEmpty() const { return bytes == 0 && count == 0; }
    bool holds(size_t most, uint64_t pieces) const { return !isEmpty() && bytes >= most && count >= pieces; }
    void put(size_t more, uint64_t pieces) {
      if (isEmpty()) peakBytes = 0;  // it appears anew
      bytes += more;
      count += pieces;
      if (bytes > peakBytes) peakBytes = bytes;
    }
    void take(size_t less, uint64_t pieces) {
      bytes -= less;
      count -= pieces;
    }
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
  void settle(Line& line) noexcept {
    if (line.isEmpty() && line.handles == 0 && !line.recent) [[unlikely]] remove(line);
  }

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

  static constexpr uint64_t kGolden = 0x9e3779b97f4a7c15;  // 2⁶⁴ / φ: spreads consecutive ids

  static uint64_t wordAt(const char* text) {
    uint64_t word;
    std::memcpy(&word, text, sizeof word);
    return word;
  }
  /** Tags are short: two overlapping words, without a call, cover all of 8 to 16 letters. */
  static bool isSame(std::string_view left, std::string_view right) {
    const size_t size = left.size();
    if (size != right.size()) return false;
    if (size < 8 || size > 16) return left == right;
    const size_t tail = size - 8;
    return wordAt(left.data()) == wordAt(right.data()) && wordAt(left.data() + tail) == wordAt(right.data() + tail);
  }
  static uint64_t mixed(Region region, const Owner& owner) {
    const uint64_t kind = static_cast<uint64_t>(region) << 8 | static_cast<uint64_t>(owner.kind);
    return (owner.id ^ kind << 48) * kGolden;
  }
  /** Looks at the ends of the tag only: two names in one place cost a look-up, not a mistake. */
  static size_t placeOf(Region region, const Owner& owner, std::string_view tag) {
    uint64_t ends = tag.size();
    if (!tag.empty()) {
      ends = ends << 16 ^ static_cast<uint64_t>(static_cast<uint8_t>(tag.front())) << 8 ^
             static_cast<uint8_t>(tag.back());
    }
    return (mixed(region, owner) + ends * kGolden) >> 58;
  }
  static size_t placeOf(const Key& key) { return placeOf(key.region, key.owner, key.tag); }
  Line* findAny(const Key& key);
  Line& create(const Key& key);
  void remember(Line& line) noexcept;
  void remove(Line& line) noexcept;

  Ledger& ledger_;
  std::unordered_map<Key, Line, Hash> lines_;
  Tags tags_;                        // → lines that carry it
  std::array<Line*, 64> recent_{};   // by placeOf; the way of most look-ups
};

}  // namespace octavo
