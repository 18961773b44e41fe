#include "engine/host_watch.h"

#include <chrono>
#include <system_error>

#include "base/error.h"
#include "memory/format_bytes.h"
#include "model/checkpoint_files.h"

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace octavo {

namespace {

constexpr auto kInterval = std::chrono::milliseconds(500);

}  // namespace

HostWatch::HostWatch(Options options) : options_(std::move(options)) {
  poll();
  if (!options_.polls) return;
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error&) {
    note(PressureLevel::kNone, "no thread to watch the host with", last_.memory.freeBytes);
  }
}

HostWatch::~HostWatch() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void HostWatch::run() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, kInterval, [this] { return stopping_; })) {
    lock.unlock();
    try {
      poll();
    } catch (const std::exception&) {
      // No memory even to read: the next poll may have it.
    }
    lock.lock();
  }
}

void HostWatch::poll() {
  const std::lock_guard once(polling_);
  const HostPressure reading = hostPressure(options_.root);
  PressureLevel before, now;
  std::string reason;
  {
    const std::lock_guard lock(mutex_);
    last_ = reading;
    before = ladder_.level();
    now = ladder_.judge(reading);
    reason = ladder_.reason();
  }
  if (now == before) return;
  note(now, now > before ? reason : "calm again", reading.memory.freeBytes);
  if (options_.changed) options_.changed(now, reason);
  if (now > before) giveBack(now, reading.memory.freeBytes);
}

/** What costs nobody anything: buffers and heap that are kept for later, and the cache of files that were read. */
void HostWatch::giveBack(PressureLevel level, size_t freeBytes) {
  const size_t unpinned = options_.unpin ? options_.unpin() : 0;
  if (unpinned > 0) note(level, "gave " + formatBytes(unpinned) + " of pinned buffers back", freeBytes);
  try {
    const CheckpointFiles files(options_.files);
    for (size_t index = 0; index < files.count(); ++index) {
      const auto file = static_cast<int32_t>(index);
      files.dropCache(file, 0, files.bytes(file));
    }
    note(level, "gave the page cache of " + std::to_string(files.count()) + " checkpoint files back", freeBytes);
  } catch (const Error& error) {
    note(level, std::string("kept the page cache of the checkpoint: ") + error.what(), freeBytes);
  }
#if defined(__GLIBC__)
  if (malloc_trim(0) == 1) note(level, "gave free heap back", freeBytes);
#endif
}

void HostWatch::note(PressureLevel level, std::string action, size_t freeBytes) {
  const std::lock_guard lock(mutex_);
  events_.push_back({options_.clock->now(), level, std::move(action), freeBytes});
  if (events_.size() > kMostEvents) events_.pop_front();
}

HostReport HostWatch::report() const {
  HostReport report;
  report.residentBytes = residentBytes();
  const std::lock_guard lock(mutex_);
  report.pressure = last_;
  report.level = ladder_.level();
  report.events.assign(events_.begin(), events_.end());
  return report;
}

}  // namespace octavo
