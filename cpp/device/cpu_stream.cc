#include "device/cpu_stream.h"

#include "base/error.h"

namespace octavo {

/** An event may keep the queue for longer than the memory its work uses lives. */
CpuStream::~CpuStream() {
  try {
    CpuStream::synchronize();
  } catch (...) {
    // Whoever waited for the work was told that it failed.
  }
}

void CpuStream::beginCapture() {
  if (captured_) throw Error(ErrorCode::kDeviceFailed, "a capture began on a stream that is being captured");
  captured_.emplace();
}

std::vector<WorkQueue::Work> CpuStream::endCapture() {
  std::vector<WorkQueue::Work> work = std::move(captured_).value();
  captured_.reset();
  return work;
}

void CpuStream::synchronize() {
  if (captured_) {
    throw Error(ErrorCode::kDeviceFailed,
                "the steps of a graph could not be captured: it waited for the device or asked how far it is");
  }
  if (queue_) queue_->waitFor(queue_->pushed());
}

void CpuEvent::record(Stream& stream) {
  queue_ = cpuStream(stream).queue();
  point_ = queue_ ? queue_->pushed() : 0;
}

void CpuEvent::synchronize() {
  if (queue_) queue_->waitFor(point_);
}

}  // namespace octavo
