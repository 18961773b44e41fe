// Streams and events of the CPU device: work is done in the call, or by a thread while the caller goes on.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "device/device.h"
#include "device/work_queue.h"

namespace octavo {

class CpuStream final : public Stream {
 public:
  /** Without a queue nothing is ever pending. */
  explicit CpuStream(std::shared_ptr<ObjectCounts> counts, std::shared_ptr<WorkQueue> queue = nullptr)
      : counted_(std::move(counts), ObjectKind::kStream), queue_(std::move(queue)) {}
  ~CpuStream() override;

  void synchronize() override;

  /** Does `work`, at once or in its turn, or records it: it may point to nothing that ends with the call. */
  template <typename Work>
  void run(Work&& work) {
    if (captured_) captured_->push_back(std::forward<Work>(work));
    else if (queue_) queue_->push(std::forward<Work>(work));
    else work();
  }

  /** From now on work is recorded. Throws kDeviceFailed where it is already. */
  void beginCapture();
  /** What was recorded. */
  std::vector<WorkQueue::Work> endCapture();

  const std::shared_ptr<WorkQueue>& queue() const { return queue_; }

 private:
  CountedObject counted_;
  std::shared_ptr<WorkQueue> queue_;
  std::optional<std::vector<WorkQueue::Work>> captured_;
};

class CpuEvent final : public Event {
 public:
  explicit CpuEvent(std::shared_ptr<ObjectCounts> counts) : counted_(std::move(counts), ObjectKind::kEvent) {}
  void record(Stream& stream) override;
  bool query() override { return !queue_ || queue_->isDone(point_); }
  void synchronize() override;

 private:
  CountedObject counted_;
  std::shared_ptr<WorkQueue> queue_;  // of the stream it was recorded on
  uint64_t point_ = 0;
};

/** The stream behind `stream`, which must come from a CPU device. */
inline CpuStream& cpuStream(Stream& stream) { return static_cast<CpuStream&>(stream); }

}  // namespace octavo
