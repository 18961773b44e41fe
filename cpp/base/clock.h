// All time of the engine goes through a Clock, so that tests can move it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace octavo {

class Clock {
 public:
  virtual ~Clock() = default;
  /** Monotonic nanoseconds since an arbitrary start. */
  virtual int64_t now() const = 0;
};

class SteadyClock final : public Clock {
 public:
  int64_t now() const override {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch()).count();
  }
};

/** A clock that stands still until `advance`. */
class FakeClock final : public Clock {
 public:
  int64_t now() const override { return now_.load(); }
  void advance(int64_t nanoseconds) { now_ += nanoseconds; }

 private:
  std::atomic<int64_t> now_{0};
};

}  // namespace octavo
