// A fixed set of threads for data-parallel loops of the CPU kernels.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace octavo {

class ThreadPool {
 public:
  /** `threads` workers including the caller; at least 1. Throws kOutOfMemory where the system gives fewer. */
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const;

  /**
   * Runs `body(begin, end)` over [0, count) in contiguous ranges of at least `grain`, and returns when
   * all are done. The split depends on `count`, `grain` and the number of threads alone. Calls from
   * several threads are serialised. When `body` throws, the other ranges still run and one exception is rethrown.
   */
  void parallelFor(int64_t count, int64_t grain, const std::function<void(int64_t, int64_t)>& body);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace octavo
