#include "device/cpu_stream.h"

namespace octavo {

/** An event may keep the queue for longer than the memory its work uses lives. */
CpuStream::~CpuStream() {
  try {
    CpuStream::synchronize();
  } catch (...) {
    // Whoever waited for the work was told that it failed.
  }
}

void CpuStream::synchronize() {
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
