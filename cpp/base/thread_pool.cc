#include "base/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "base/error.h"

namespace octavo {

namespace {

// A decode step runs some hundred loops of tens of microseconds: workers stay awake between them, for about 50 µs.
constexpr int kSpins = 3000;
constexpr int kRangesPerThread = 4;

void pauseCore() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

/**
 * `unclaimed` is both the queue and the publication of a loop: its fields are written before the release
 * store of `unclaimed` and stay as they are until `unfinished` is zero, so whoever claims a range sees them.
 */
struct ThreadPool::State {
  std::mutex serial;
  std::vector<std::thread> workers;
  std::atomic<uint32_t> generation{0};  // counts loops; workers sleep on it
  std::atomic<bool> stopping{false};
  std::atomic<int64_t> unclaimed{0};
  std::atomic<int64_t> unfinished{0};

  const std::function<void(int64_t, int64_t)>* body = nullptr;
  int64_t count = 0;
  int64_t ranges = 0;
  std::mutex failureMutex;
  std::exception_ptr failure;

  void runRange(int64_t range) {
    try {
      (*body)(count * range / ranges, count * (range + 1) / ranges);
    } catch (...) {
      std::lock_guard lock(failureMutex);
      failure = std::current_exception();
    }
    unfinished.fetch_sub(1, std::memory_order_acq_rel);
  }

  void claimRanges() {
    int64_t left = unclaimed.load(std::memory_order_acquire);
    while (left > 0) {
      if (!unclaimed.compare_exchange_weak(left, left - 1, std::memory_order_acq_rel)) continue;
      runRange(left - 1);
      left = unclaimed.load(std::memory_order_acquire);
    }
  }

  void waitForLoop(uint32_t seen) {
    for (int spin = 0; spin < kSpins; ++spin) {
      if (generation.load(std::memory_order_acquire) != seen) return;
      pauseCore();
    }
    generation.wait(seen, std::memory_order_acquire);
  }

  void work() {
    for (;;) {
      // Read before `stopping` and before the claim: a later change of either ends the wait below.
      const uint32_t seen = generation.load(std::memory_order_acquire);
      if (stopping.load(std::memory_order_acquire)) return;
      claimRanges();
      waitForLoop(seen);
    }
  }

  void announce() {
    generation.fetch_add(1, std::memory_order_acq_rel);
    generation.notify_all();
  }

  void stop() {
    stopping.store(true, std::memory_order_release);
    announce();
    for (std::thread& worker : workers) worker.join();
  }
};

ThreadPool::ThreadPool(int threads) : state_(std::make_unique<State>()) {
  try {
    for (int i = 1; i < threads; ++i) state_->workers.emplace_back([state = state_.get()] { state->work(); });
  } catch (const std::system_error& error) {
    const int given = this->threads();
    state_->stop();
    throw Error(ErrorCode::kOutOfMemory, "threads is " + std::to_string(threads) + ", and the system gives " +
                                             std::to_string(given) + " (" + error.code().message() +
                                             "); pass fewer threads, or raise the limit on this process's threads");
  } catch (...) {
    state_->stop();
    throw;
  }
}

ThreadPool::~ThreadPool() { state_->stop(); }

int ThreadPool::threads() const { return static_cast<int>(state_->workers.size()) + 1; }

void ThreadPool::parallelFor(int64_t count, int64_t grain,
                             const std::function<void(int64_t, int64_t)>& body) {
  if (count <= 0) return;
  const int64_t ranges = std::min<int64_t>(count / std::max<int64_t>(grain, 1), threads() * kRangesPerThread);
  State& state = *state_;
  std::lock_guard serial(state.serial);
  if (ranges <= 1 || threads() == 1) return body(0, count);

  state.body = &body;
  state.count = count;
  state.ranges = ranges;
  state.failure = nullptr;
  state.unfinished.store(ranges, std::memory_order_relaxed);
  state.unclaimed.store(ranges, std::memory_order_release);
  state.announce();
  state.claimRanges();
  for (int spin = 0; state.unfinished.load(std::memory_order_acquire) > 0; ++spin) {
    if (spin < kSpins) pauseCore();
    else std::this_thread::yield();
  }
  if (state.failure) std::rethrow_exception(state.failure);
}

}  // namespace octavo
