// Which tokens a sequence has seen, and how often its output holds them: what the penalties read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "ops/sampling.h"

namespace octavo {

class TokenHistory {
 public:
  explicit TokenHistory(const std::vector<int32_t>& prompt);
  void addOutput(int32_t token);
  /** Distinct tokens, in the order they first came. */
  const std::vector<TokenCount>& counts() const { return counts_; }

 private:
  TokenCount& entry(int32_t token);
  std::vector<TokenCount> counts_;
  std::unordered_map<int32_t, size_t> index_;  // token → its place in counts_
};

}  // namespace octavo
