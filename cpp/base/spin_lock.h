// A lock for critical sections of a few nanoseconds, most of the time.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

namespace octavo {

/**
 * Taking and giving it costs one locked instruction where std::mutex costs two and two calls. Who finds it taken
 * looks again, then gives its core away, then sleeps in short turns: a holder that waits for the device costs the
 * others no core. BasicLockable, not recursive.
 */
class SpinLock {
 public:
  void lock() noexcept {
    if (taken_.exchange(true, std::memory_order_acquire)) wait();
  }
  void unlock() noexcept { taken_.store(false, std::memory_order_release); }

 private:
  void wait() noexcept {
    int looks = 0;
    do {
      while (taken_.load(std::memory_order_relaxed)) {
        ++looks;
        if (looks > 200) std::this_thread::sleep_for(std::chrono::microseconds(50));
        else if (looks > 100) std::this_thread::yield();
      }
    } while (taken_.exchange(true, std::memory_order_acquire));
  }

  std::atomic<bool> taken_{false};
};

}  // namespace octavo
