// A session's lease: who is not heard of any more loses what it holds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace octavo {

/** Nanoseconds; interval 0: no lease. */
struct LeaseTerms {
  static constexpr int64_t kMissed = 3;  // heartbeats in a row, while a request runs or waits

  int64_t interval = 0;
  int64_t idle = 0;      // without a heartbeat and without a request
};

/** Pure: it is told the time. */
class Lease {
 public:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  Lease() = default;
  Lease(const LeaseTerms& terms, int64_t now) : terms_(terms), heard_(now), idle_(now) {}

  const LeaseTerms& terms() const { return terms_; }
  void renew(int64_t now) { heard_ = now; }
  /** Its request ended. */
  void becomeIdle(int64_t now) { idle_ = now; }
  int64_t deadline(bool busy) const {
    if (terms_.interval <= 0) return kNever;
    return busy ? heard_ + LeaseTerms::kMissed * terms_.interval : std::max(heard_, idle_) + terms_.idle;
  }

 private:
  LeaseTerms terms_;
  int64_t heard_ = 0, idle_ = 0;
};

}  // namespace octavo
