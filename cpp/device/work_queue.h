// Work done in order by a thread of its own: what makes a stream of the CPU device run beside its caller.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace octavo {

/** Thread-safe. As on a GPU, nothing runs any more after work has failed, and whoever waits is told. */
class WorkQueue {
 public:
  using Work = std::function<void()>;

  /** Throws kOutOfMemory where the system gives no thread. */
  WorkQueue();
  /** Waits for what was pushed. */
  ~WorkQueue();
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  void push(Work work);
  /** How many were pushed: a point in the order of the work. */
  uint64_t pushed() const;
  bool isDone(uint64_t point) const;
  /** Until the first `point` of them are done. Throws kDeviceFailed if any that ended has failed. */
  void waitFor(uint64_t point) const;

 private:
  void run();
  void doNext(std::unique_lock<std::mutex>& lock);

  mutable std::mutex mutex_;
  std::condition_variable wake_;             // of the thread
  mutable std::condition_variable finished_;
  std::deque<Work> waiting_;
  uint64_t pushed_ = 0, done_ = 0;
  bool stopping_ = false;
  std::optional<std::string> failure_;       // of the first that failed
  std::thread thread_;
};

}  // namespace octavo
