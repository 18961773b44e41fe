// When blocks that are gone were last used, for those that come back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <unordered_map>

#include "kv/prefix_hash.h"

namespace octavo {

/**
 * The last blocks that were evicted, at most so many, some 100 host bytes each: without it, LRU-2 forgets what returns
 * more seldom than the cache turns over. All operations are O(1).
 */
class ReuseHistory {
 public:
  /** Forgets the oldest ones beyond `most`. A hash that is there already is renewed. */
  void remember(const PrefixHash& hash, int64_t lastUse, size_t most);
  /** Takes the block out, and says when it was last used. */
  std::optional<int64_t> recall(const PrefixHash& hash);
  size_t size() const { return byHash_.size(); }
  /** Throws kInternal when list and table disagree. */
  void check() const;

 private:
  struct Past { PrefixHash hash; int64_t lastUse; };
  using Order = std::list<Past>;

  Order order_;  // the longest gone first
  std::unordered_map<PrefixHash, Order::iterator, PrefixHash::Bucket> byHash_;
};

}  // namespace octavo
