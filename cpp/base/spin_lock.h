// A lock for a few nanoseconds of work.
#pragma once

#include <atomic>
#include <thread>

namespace octavo {

/**
 * Costs one locked instruction where std::mutex costs two and two calls. For critical sections that neither
 * block nor call out; who waits long gives its core away. BasicLockable.
 */
class SpinLock {
 public:
  void lock() noexcept {
    while (taken_.exchange(true, std::memory_order_acquire)) wait();
  }
  void unlock() noexcept { taken_.store(false, std::memory_order_release); }

 private:
  void wait() const noexcept {
    for (int looks = 0; looks < 100; ++looks) {
      if (!taken_.load(std::memory_order_relaxed)) return;
    }
    std::this_thread::yield();
  }

  std::atomic<bool> taken_{false};
};

}  // namespace octavo
