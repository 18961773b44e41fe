#include "device/work_queue.h"

#include <utility>

#include "base/error.h"
#include "base/start_thread.h"

namespace octavo {

WorkQueue::WorkQueue() : thread_(startThread("run a stream of the CPU", [this] { run(); })) {}

WorkQueue::~WorkQueue() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void WorkQueue::push(Work work) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(work));
    ++pushed_;
  }
  wake_.notify_one();
}

uint64_t WorkQueue::pushed() const {
  const std::lock_guard lock(mutex_);
  return pushed_;
}

bool WorkQueue::isDone(uint64_t point) const {
  const std::lock_guard lock(mutex_);
  return done_ >= point;
}

void WorkQueue::waitFor(uint64_t point) const {
  std::unique_lock lock(mutex_);
  finished_.wait(lock, [&] { return done_ >= point; });
  if (failure_) throw Error(ErrorCode::kDeviceFailed, "work on a stream of the CPU failed: " + *failure_);
}

void WorkQueue::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    doNext(lock);
    ++done_;
    finished_.notify_all();
  }
}

void WorkQueue::doNext(std::unique_lock<std::mutex>& lock) {
  const Work work = std::move(waiting_.front());
  waiting_.pop_front();
  if (failure_) return;
  lock.unlock();
  std::optional<std::string> failed;
  try {
    work();
  } catch (const std::exception& error) {
    failed = error.what();
  } catch (...) {
    failed = "an exception of no known type";
  }
  lock.lock();
  if (failed) failure_ = std::move(failed);
}

}  // namespace octavo
