#include "trace/event_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <new>

#include "trace/settings.h"

namespace octavo::memtrace {

namespace {

constexpr size_t kFlushBytes = 64 << 10;

}  // namespace

bool EventLog::isFull() {
  if (written_ + buffered_ < settings().maximumEvents) return false;
  dropped_++;
  return true;
}

void EventLog::add(const char* operation, const Allocation& allocation, int64_t time, int64_t start) {
  if (settings().events[0] == '\0') return;
  const Hold hold(lock_);
  if (isFull()) return;
  buffer_.add("{\"t\":").number(time - start).add(",\"op\":\"").add(operation).add("\",\"kind\":\"");
  buffer_.add(traitsOf(allocation.kind).name).add("\",\"seq\":").unsignedNumber(allocation.sequence);
  buffer_.add(",\"ptr\":\"").hex(allocation.address).add("\",\"bytes\":").unsignedNumber(allocation.bytes);
  buffer_.add(",\"stream\":\"").hex(allocation.stream).add("\",\"thread\":").number(allocation.thread);
  buffer_.add(",\"stack\":").number(allocation.stack).add("}\n");
  buffered_++;
  if (buffer_.size() >= kFlushBytes) flushLocked();
}

void EventLog::note(const char* operation, uint64_t object, uint64_t bytes, int64_t time, int64_t start) {
  if (settings().events[0] == '\0') return;
  const Hold hold(lock_);
  if (isFull()) return;
  buffer_.add("{\"t\":").number(time - start).add(",\"op\":\"").add(operation).add("\",\"ptr\":\"").hex(object);
  buffer_.add("\",\"bytes\":").unsignedNumber(bytes).add("}\n");
  buffered_++;
}

void EventLog::append(const Text& line) {
  const Hold hold(lock_);
  buffer_.add(line.view());
  if (buffer_.size() >= kFlushBytes) flushLocked();
}

void EventLog::flush(int patience) {
  if (settings().events[0] == '\0') return;
  const Hold hold(lock_, patience);
  if (hold.held()) flushLocked();
}

/** Opened for each write: a program that closes all its descriptors must not make us write into its next file. */
void EventLog::flushLocked() {
  char path[kPathBytes];
  const int mode = O_WRONLY | O_CREAT | O_CLOEXEC | (begun_ ? O_APPEND : O_TRUNC);
  const int file = expandPath(settings().events, path, sizeof path) ? open(path, mode, 0644) : -1;
  const bool done = file >= 0 && buffer_.writeTo(file);
  if (file >= 0) close(file);
  if (done) written_ += buffered_;
  else dropped_ += buffered_;
  begun_ = begun_ || done;
  buffered_ = 0;
  buffer_.clear();
}

void EventLog::abandon() { new (this) EventLog(); }

}  // namespace octavo::memtrace
