#include "engine/prompt_pace.h"

#include <algorithm>

namespace octavo {

namespace {

constexpr double kSlower = 1.8; // than decodes alone
constexpr int64_t kFew = 4;     // decodes for each that waits: with more the prompts are paced
constexpr double kSure = 0.9;   // of the time there is: what a raise may foresee
constexpr int64_t kMemory = 8;  // steps that the mean remembers
constexpr int32_t kGrain = 8;   // of the tokens, in one raise

}  // namespace

PromptPace::PromptPace(int32_t leastTokens, int32_t mostTokens)
    : least_(std::min(leastTokens, mostTokens)), most_(mostTokens), tokens_(std::clamp(kFirstTokens, least_, most_)) {}

int32_t PromptPace::tokens(int64_t decoding, int64_t waiting) const {
  if (!isKnown_ || mixed_ >= kStaleSteps) return 0;
  return waiting * kFew >= decoding ? most_ : tokens_;
}

void PromptPace::stepped(int32_t prompts, int64_t nanoseconds) {
  if (prompts == 0) {
    alone_ = isKnown_ ? alone_ + (nanoseconds - alone_) / kMemory : nanoseconds;
    isKnown_ = true;
    mixed_ = 0;
    return;
  }
  ++mixed_;
  if (!isKnown_) return;
  const double left = (kSlower - 1) * static_cast<double>(alone_);
  const auto took = static_cast<double>(std::max<int64_t>(0, nanoseconds - alone_));
  const double onTime = took > 0 ? prompts * left / took : 2.0 * most_;
  if (onTime < std::min(prompts, tokens_)) {
    tokens_ = std::max(least_, static_cast<int32_t>(onTime));
  } else if (prompts >= tokens_ && kSure * onTime > tokens_) {
    const int32_t raised = tokens_ + std::max(1, tokens_ / kGrain);
    tokens_ = std::min({most_, raised, static_cast<int32_t>(kSure * onTime)});
  }
}

}  // namespace octavo
