// Watches the host's memory from a thread of its own and climbs the ladder before the kernel's killer comes.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "engine/pressure_ladder.h"

namespace octavo {

/** A rung climbed or left, or something given back on it. */
struct HostEvent {
  int64_t time = 0;  // of the engine's clock, in nanoseconds
  PressureLevel level = PressureLevel::kNone;
  std::string action;
  size_t freeBytes = 0;
};

/** The host as last read. */
struct HostReport {
  HostPressure pressure;
  PressureLevel level = PressureLevel::kNone;
  size_t residentBytes = 0;         // of this process
  std::vector<HostEvent> events;    // the last kMostEvents
};

class HostWatch {
 public:
  static constexpr size_t kMostEvents = 64;

  struct Options {
    std::string root = "/";           // where /proc is; another in tests
    bool polls = true;                // from a thread, twice a second; else `poll` is called
    std::vector<std::string> files;   // the checkpoint, whose page cache can be given back
    std::shared_ptr<Clock> clock;
    /** Gives page-locked buffers that are kept for later back, and says how many bytes. Any thread calls it. */
    std::function<size_t()> unpin;
    /** Called when the level changes, with the watch's lock not held; the reason is a clause. */
    std::function<void(PressureLevel, const std::string& reason)> changed;
  };

  /** Reads once before it returns. Without a thread to be had it does not poll. */
  explicit HostWatch(Options options);
  ~HostWatch();
  HostWatch(const HostWatch&) = delete;
  HostWatch& operator=(const HostWatch&) = delete;

  /** Reads, judges, and acts. Thread-safe. */
  void poll();
  HostReport report() const;

 private:
  void run();
  void giveBack(PressureLevel level, size_t freeBytes);
  void note(PressureLevel level, std::string action, size_t freeBytes);

  Options options_;
  std::mutex polling_;              // one poll at a time; taken before `mutex_`
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  PressureLadder ladder_;
  HostPressure last_;
  std::deque<HostEvent> events_;
  std::thread thread_;
};

}  // namespace octavo
