#include "model/weight_stream.h"

#include <algorithm>
#include <system_error>

#include "base/error.h"
#include "device/host_limits.h"
#include "memory/format_bytes.h"
#include "ops/ops.h"

namespace octavo {

namespace {

constexpr Owner kEngine{OwnerKind::kEngine, 0};
constexpr uint64_t kProgressBytes = uint64_t{64} << 20;
constexpr size_t kReaders = 4;  // one thread copies out of the page cache slower than a disk fills it

}  // namespace

WeightStream::WeightStream(DeviceAllocator& allocator, const CheckpointFiles& files,
                           const std::vector<WeightChunk>& chunks, const RingShape& shape,
                           const StreamOptions& options)
    : device_(allocator.device()),
      files_(files),
      chunks_(chunks),
      failChunk_(options.failChunk),
      slices_(static_cast<size_t>(shape.slices)) {
  for (const WeightChunk& chunk : chunks_) totalBytes_ += chunk.bytes;
  dropBehind_ = options.dropBehind.value_or(totalBytes_ > hostMemory().freeBytes / 2);
  if (shape.converts) staging_ = allocator.allocate(Region::kWorkspace, shape.slice, kEngine, "weights.staging");
  stream_ = device_.createStream();
  for (Slice& slice : slices_) {
    if (shape.slice > 0) slice.buffer = allocator.allocate(Region::kPinned, shape.slice, kEngine, "weights.ring");
    slice.copied = device_.createEvent();
  }
}

WeightStream::~WeightStream() {
  stopReaders();
  try {
    if (stream_) stream_->synchronize();  // the device may still read the ring
  } catch (const std::exception&) {
    // A failed device reads nothing any more; the failure was reported by run().
  }
}

void WeightStream::run(const std::function<void(LoadProgress)>& progress, const std::atomic<bool>& cancelled) {
  startReaders();
  uint64_t done = 0;
  uint64_t reported = 0;
  for (size_t index = 0; index < chunks_.size(); ++index) {
    if (cancelled.load()) {
      throw Error(ErrorCode::kCancelled, "loading was cancelled after " + formatBytes(done) + " of " +
                                             formatBytes(totalBytes_));
    }
    send(chunks_[index], awaitChunk(index));
    done += chunks_[index].bytes;
    if (done - reported < kProgressBytes || done == totalBytes_) continue;  // the end is told below
    reported = done;
    if (progress) progress({done, totalBytes_});
  }
  stream_->synchronize();
  if (progress) progress({totalBytes_, totalBytes_});
}

/** Fewer where the system gives no more threads; none is a refusal. */
void WeightStream::startReaders() {
  const size_t wanted = std::min({kReaders, slices_.size(), chunks_.size()});
  readers_.reserve(wanted);
  try {
    while (readers_.size() < wanted) readers_.emplace_back([this] { readChunks(); });
  } catch (const std::system_error& error) {
    if (readers_.empty()) {
      throw Error(ErrorCode::kOutOfMemory, std::string("no thread to read the weights with: ") + error.what());
    }
  }
}

void WeightStream::stopReaders() noexcept {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& reader : readers_) reader.join();
  readers_.clear();
}

/** A reader thread: takes the next chunk whose slice is free, until there is none. */
void WeightStream::readChunks() {
  for (;;) {
    size_t index = 0;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] {
        return stopping_ || next_ == chunks_.size() || next_ < sent_ + slices_.size();
      });
      if (stopping_ || next_ == chunks_.size()) return;
      index = next_++;
    }
    Slice& slice = slices_[index % slices_.size()];
    std::exception_ptr failure;
    try {
      readChunk(index, slice);
    } catch (...) {
      failure = std::current_exception();
    }
    {
      const std::lock_guard lock(mutex_);
      slice.failure = failure;
      slice.arrived = index + 1;
    }
    changed_.notify_all();
  }
}

void WeightStream::readChunk(size_t index, Slice& slice) {
  const WeightChunk& chunk = chunks_[index];
  if (failChunk_ == index + 1) {
    throw Error(ErrorCode::kIoFailed, "cannot read " + files_.path(chunk.file) + ": chunk " +
                                          std::to_string(failChunk_) + " was told to fail");
  }
  slice.copied->synchronize();  // the device has read what was here before
  files_.read(chunk.file, chunk.offset, isDirect(chunk) ? chunk.target : slice.buffer.data(), chunk.bytes);
  if (dropBehind_) files_.dropCache(chunk.file, chunk.offset, chunk.bytes);
}

WeightStream::Slice& WeightStream::awaitChunk(size_t index) {
  Slice& slice = slices_[index % slices_.size()];
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return slice.arrived == index + 1; });
  if (slice.failure) std::rethrow_exception(slice.failure);
  return slice;
}

bool WeightStream::isDirect(const WeightChunk& chunk) const {
  return device_.sharesHostMemory() && !chunk.changes();
}

void WeightStream::send(const WeightChunk& chunk, Slice& slice) {
  void* const landing = chunk.changes() ? staging_.data() : chunk.target;  // one staging slice: the stream keeps order
  if (!isDirect(chunk)) device_.copy(landing, slice.buffer.data(), chunk.bytes, CopyKind::kHostToDevice, *stream_);
  slice.copied->record(*stream_);
  {
    const std::lock_guard lock(mutex_);
    ++sent_;
  }
  changed_.notify_all();
  if (chunk.repack) {
    Repack repack = *chunk.repack;
    repack.from = landing;
    device_.ops().repack(repack, *stream_);
    return;
  }
  if (!chunk.changes()) return;
  const auto count = static_cast<int64_t>(chunk.bytes / dtypeBytes(chunk.fileType));
  device_.ops().convert(chunk.target, chunk.targetType, landing, chunk.fileType, count, *stream_);
}

}  // namespace octavo
