#include "engine/token_history.h"

namespace octavo {

TokenHistory::TokenHistory(const std::vector<int32_t>& prompt) {
  for (const int32_t token : prompt) entry(token);
}

void TokenHistory::addOutput(int32_t token) { ++entry(token).outputCount; }

TokenCount& TokenHistory::entry(int32_t token) {
  const auto [place, isNew] = index_.try_emplace(token, counts_.size());
  if (isNew) counts_.push_back({token, 0});
  return counts_[place->second];
}

}  // namespace octavo
