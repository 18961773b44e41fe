// A lock of one byte: no initialisation, no allocation, and simply forgotten by the child of a fork.
#pragma once

#include <sched.h>

#include <atomic>

namespace octavo::memtrace {

class SpinLock {
 public:
  void lock() {
    while (!tryLock()) sched_yield();
  }

  /** Gives up after some thousand looks; the holder may have died in a signal. */
  bool tryLock() {
    for (int spins = 0; spins < kSpins; spins++) {
      if (!held_.exchange(true, std::memory_order_acquire)) return true;
      while (held_.load(std::memory_order_relaxed) && spins < kSpins) spins++;
    }
    return false;
  }

  void unlock() { held_.store(false, std::memory_order_release); }

 private:
  static constexpr int kSpins = 4000;
  std::atomic<bool> held_{false};
};

/** Holds a lock for a scope. With `patience` 0 it waits; otherwise it may fail after so many tries. */
class Hold {
 public:
  explicit Hold(SpinLock& lock, int patience = 0) : lock_(lock) {
    if (patience == 0) lock_.lock();
    for (int tries = 0; patience > 0 && !held_ && tries < patience; tries++) {
      held_ = lock_.tryLock();
      if (!held_) sched_yield();
    }
    if (patience == 0) held_ = true;
  }
  ~Hold() {
    if (held_) lock_.unlock();
  }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  bool held() const { return held_; }

 private:
  SpinLock& lock_;
  bool held_ = false;
};

}  // namespace octavo::memtrace
