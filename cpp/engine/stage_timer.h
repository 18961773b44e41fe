// How long a request may stay in each stage of its life.
#pragma once

#include <cstdint>
#include <limits>

namespace octavo {

/** kQueue: until it begins. kInference: from then on, but for kPost: its caller takes none of what it has made. */
enum class Stage : uint8_t { kQueue, kInference, kPost };
const char* stageName(Stage stage);  // "queue" "inference" "post"

/** Nanoseconds; 0: as long as it takes. kPost counts without a break, the others all they ever took. */
struct StageLimits {
  int64_t queue = 0, inference = 0, post = 0;

  int64_t of(Stage stage) const;
  bool any() const { return queue > 0 || inference > 0 || post > 0; }
};

/** Pure: it is told the time. */
class StageTimer {
 public:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  StageTimer() = default;
  StageTimer(const StageLimits& limits, int64_t now) : limits_(limits), since_(now) {}

  /** From `now` on it is in this stage; the same as before changes nothing. */
  void enter(Stage stage, int64_t now);
  Stage stage() const { return stage_; }
  const StageLimits& limits() const { return limits_; }
  /** When the stage it is in ends the request; kNever without a limit. */
  int64_t deadline() const;

 private:
  StageLimits limits_;
  Stage stage_ = Stage::kQueue;
  int64_t since_ = 0;
  int64_t inference_ = 0;  // spent before `since_`
};

}  // namespace octavo
