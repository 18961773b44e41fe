// What the engine thread spends its time on, step by step.
#pragma once

#include <cstdint>

namespace octavo {

/**
 * kPlan: requests that ended, moves of blocks, who runs next. kUpload: tokens, tables and sampling of the batch put
 * together. kLaunch: kernels and copies handed to the device; on the CPU that is the computing. kWait: until the device
 * is done, the one stage that is not the host's. kBook: tokens to sessions and callers. kTell: callers woken, while the
 * device runs where it can.
 */
enum class HostStage : uint8_t { kPlan, kUpload, kLaunch, kWait, kBook, kTell };

class StepTimes {
 public:
  static constexpr int kStages = 6;

  /** A round of the thread begins; one before it that was not kept is forgotten: it ran no step. */
  void begin(int64_t now) {
    last_ = now;
    for (int64_t& round : round_) round = 0;
  }
  /** All since `begin` or the last lap was of this stage. */
  void lap(HostStage stage, int64_t now) {
    round_[static_cast<int>(stage)] += now - last_;
    last_ = now;
  }
  /** The round ran a step, or booked one. */
  void keep() {
    for (int stage = 0; stage < kStages; ++stage) kept_[stage] += round_[stage];
  }

  /** Nanoseconds over all rounds that were kept. */
  int64_t of(HostStage stage) const { return kept_[static_cast<int>(stage)]; }

 private:
  int64_t last_ = 0;
  int64_t round_[kStages] = {}, kept_[kStages] = {};
};

}  // namespace octavo
