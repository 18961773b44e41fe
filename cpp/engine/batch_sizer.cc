#include "engine/batch_sizer.h"

#include <algorithm>
#include <cmath>

namespace octavo {

namespace {

constexpr int64_t kMemory = 16;      // ended requests that the mean remembers
constexpr double kLeastGain = 0.25;  // of what a lowering would gain if all time were the tokens'

/** A grain more, at least one. */
int32_t grown(int32_t value, int32_t most) {
  return std::min(most, value + std::max(1, value / BatchSizer::kGrain));
}

}  // namespace

BatchSizer::BatchSizer(const BatchSizing& sizing)
    : sizing_(sizing), memory_(sizing.maxSequences), tokens_(sizing.maxTokens) {}

void BatchSizer::ended(int64_t tokens) {
  endedTokens_ = endedTokens_ == 0 ? tokens * kMemory : endedTokens_ + tokens - endedTokens_ / kMemory;
}

void BatchSizer::look(int64_t availableBytes, int64_t tokens, int64_t requests) {
  const int64_t held = requests == 0 ? 0 : (tokens + requests - 1) / requests;
  const int64_t expected = std::max({int64_t{1}, endedTokens_ / kMemory, held});
  const int64_t rounded = (expected + sizing_.blockSize - 1) / sizing_.blockSize * sizing_.blockSize;
  expected_ = static_cast<int32_t>(expected);
  const int64_t fitting = availableBytes / (sizing_.tokenBytes * rounded);
  const auto room = static_cast<int32_t>(std::clamp<int64_t>(fitting, 1, sizing_.maxSequences));
  if (room <= memory_) {
    memory_ = room;
    roomier_ = 0;
  } else if (++roomier_ >= kGoodSteps) {
    memory_ = grown(memory_, room);
    roomier_ = 0;
  }
}

void BatchSizer::stepped(int32_t tokens, int64_t nanoseconds) {
  if (sizing_.targetNanoseconds == 0 || tokens == 0) return;
  if (nanoseconds > sizing_.targetNanoseconds) {
    good_ = 0;
    ++report_.late;
    if (++late_ >= kLateSteps) lower(tokens, nanoseconds);
    return;
  }
  late_ = loweredAt_ = 0;
  const int32_t raised = grown(tokens_, sizing_.maxTokens);
  const double foreseen = static_cast<double>(nanoseconds) * std::max(1.0, static_cast<double>(raised) / tokens);
  if (raised == tokens_ || foreseen > 0.9 * static_cast<double>(sizing_.targetNanoseconds)) {
    good_ = 0;
  } else if (++good_ >= kGoodSteps) {
    tokens_ = raised;
    good_ = 0;
    ++report_.raised;
  }
}

/** The last lowering has shown, and what came of half the tokens was of use. */
bool BatchSizer::mayHelp(int32_t tokens, int64_t nanoseconds) const {
  if (loweredAt_ == 0) return true;
  if (tokens > tokens_) return false;
  if (tokens > loweredAt_ / 2) return true;
  const double left = static_cast<double>(tokens) / loweredAt_;
  const auto gained = static_cast<double>(loweredTime_ - nanoseconds);
  return gained >= kLeastGain * (1 - left) * static_cast<double>(loweredTime_);
}

void BatchSizer::lower(int32_t tokens, int64_t nanoseconds) {
  late_ = 0;
  const bool isAnother = nanoseconds - loweredTime_ > loweredTime_ / kGrain;  // load than that which was lowered for
  if (isAnother) loweredAt_ = 0;
  if (!mayHelp(tokens, nanoseconds)) return;
  const double share = static_cast<double>(sizing_.targetNanoseconds) / static_cast<double>(nanoseconds);
  const auto onTime = static_cast<int32_t>(std::ceil(tokens * std::clamp(share, 0.5, 1 - 1.0 / kGrain)));
  const int32_t lowered = std::max(1, std::min({tokens_, tokens - 1, onTime}));
  if (lowered == tokens_) return;
  tokens_ = lowered;
  ++report_.lowered;
  if (loweredAt_ != 0 && tokens > loweredAt_ / 2) return;
  loweredAt_ = tokens;
  loweredTime_ = nanoseconds;
}

BatchSize BatchSizer::size(bool byMemory) const {
  const int32_t most = byMemory ? memory_ : sizing_.maxSequences;
  BatchSize size;
  size.sequences = std::max(1, std::min(most, tokens_));
  size.tokens = tokens_;
  return size;
}

BatchReport BatchSizer::report(bool byMemory) const {
  BatchReport report = report_;
  report.size = size(byMemory);
  report.memorySequences = memory_;
  report.expectedTokens = expected_;
  return report;
}

}  // namespace octavo
