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
    bool operator==(const Key&) const = default;
  };
  struct Line {
    Key key;  // its tag is interned
    size_t bytes = 0, peakBytes = 0;
    uint64_t count = 0;
    uint64_t handles = 0;
    bool recent = false;
    bool isEmpty() const { return bytes == 0 && count == 0; }
  };

  /** The line of that name; made empty where there is none. Throws std::bad_alloc, changing nothing. */
  Line& at(const Key& key);
  /** nullptr where there is none. */
  Line* find(const Key& key);
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

  static size_t placeOf(const Key& key);
  Line& create(const Key& key);
  void remember(Line& line) noexcept;

  std::unordered_map<Key, Line, Hash> lines_;
  Tags tags_;                        // → lines that carry it
  std::array<Line*, 64> recent_{};   // by placeOf; the way of most look-ups
};

}  // namespace octavo
