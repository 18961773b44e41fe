#include "kv/reuse_history.h"

#include "base/error.h"

namespace octavo {

void ReuseHistory::remember(const PrefixHash& hash, int64_t lastUse, size_t most) {
  recall(hash);
  order_.push_back({hash, lastUse});
  byHash_.emplace(hash, std::prev(order_.end()));
  while (order_.size() > most) {
    byHash_.erase(order_.front().hash);
    order_.pop_front();
  }
}

std::optional<int64_t> ReuseHistory::recall(const PrefixHash& hash) {
  const auto found = byHash_.find(hash);
  if (found == byHash_.end()) return std::nullopt;
  const int64_t lastUse = found->second->lastUse;
  order_.erase(found->second);
  byHash_.erase(found);
  return lastUse;
}

void ReuseHistory::check() const {
  bool agree = order_.size() == byHash_.size();
  for (auto past = order_.begin(); agree && past != order_.end(); ++past) {
    const auto found = byHash_.find(past->hash);
    agree = found != byHash_.end() && found->second == past;
  }
  if (agree) return;
  throw Error(ErrorCode::kInternal, "history of evicted KV blocks: " + std::to_string(order_.size()) +
                                        " in order, " + std::to_string(byHash_.size()) + " by hash, or others");
}

}  // namespace octavo
