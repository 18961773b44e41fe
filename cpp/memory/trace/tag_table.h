// Tags by number.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "memory/trace/trace_event.h"

namespace octavo {

/** Not thread-safe. O(1). Holds at most `kCapacity` tags, so that tags made of numbers cannot eat the host. */
class TagTable {
 public:
  static constexpr size_t kCapacity = 65536;

  /** The number of the tag, from 1; 0 when the table is full and it is not in it. Throws bad_alloc. */
  TagId intern(std::string_view tag) {
    const auto known = ids_.find(tag);
    if (known != ids_.end()) return known->second;
    if (names_.size() > kCapacity) return 0;
    const auto id = static_cast<TagId>(names_.size());
    names_.emplace_back(tag);
    ids_.emplace(tag, id);
    return id;
  }
  /** By number; the first stands for what found no room. */
  const std::vector<std::string>& names() const { return names_; }

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view tag) const { return std::hash<std::string_view>{}(tag); }
  };
  std::vector<std::string> names_{"(other)"};
  std::unordered_map<std::string, TagId, Hash, std::equal_to<>> ids_;
};

}  // namespace octavo
