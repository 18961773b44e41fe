#include "engine/stage_timer.h"

namespace octavo {

const char* stageName(Stage stage) {
  switch (stage) {
    case Stage::kQueue: return "queue";
    case Stage::kInference: return "inference";
    case Stage::kPost: return "post";
  }
  return "queue";
}

int64_t StageLimits::of(Stage stage) const {
  return stage == Stage::kQueue ? queue : stage == Stage::kInference ? inference : post;
}

void StageTimer::enter(Stage stage, int64_t now) {
  if (stage == stage_) return;
  if (stage_ == Stage::kInference) inference_ += now - since_;
  stage_ = stage;
  since_ = now;
}

int64_t StageTimer::deadline() const {
  const int64_t limit = limits_.of(stage_);
  if (limit <= 0) return kNever;
  return since_ + limit - (stage_ == Stage::kInference ? inference_ : 0);
}

}  // namespace octavo
