#include "model/weight_stream.h"

#include <algorithm>

#include "base/error.h"
#include "memory/format_bytes.h"
#include "ops/ops.h"

namespace octavo {

namespace {

constexpr Owner kEngine{OwnerKind::kEngine, 0};
constexpr uint64_t kProgressBytes = uint64_t{64} << 20;

}  // namespace

size_t WeightStream::sliceBytes(uint64_t totalBytes) {
  constexpr uint64_t kPage = 4096;
  return std::clamp<uint64_t>(totalBytes / 64 / kPage * kPage, uint64_t{256} << 10, uint64_t{16} << 20);
}

WeightStream::WeightStream(DeviceAllocator& allocator, const CheckpointFiles& files,
                           const std::vector<WeightChunk>& chunks)
    : device_(allocator.device()), files_(files), chunks_(chunks) {
  size_t largest = 0;
  bool converts = false;
  for (const WeightChunk& chunk : chunks_) {
    largest = std::max(largest, chunk.bytes);
    totalBytes_ += chunk.bytes;
    converts |= chunk.fileType != chunk.targetType;
  }
  const size_t slice = DeviceAllocator::rounded(largest);
  ring_ = allocator.allocate(Region::kPinned, slice * kSlices, kEngine, "weights.ring");
  if (converts) staging_ = allocator.allocate(Region::kWorkspace, slice, kEngine, "weights.staging");
  stream_ = device_.createStream();
  for (int index = 0; index < kSlices; ++index) {
    slices_[index].data = static_cast<char*>(ring_.data()) + index * slice;
    slices_[index].copied = device_.createEvent();
  }
}

WeightStream::~WeightStream() {
  try {
    if (stream_) stream_->synchronize();  // the device may still read the ring
  } catch (const std::exception&) {
    // A failed device reads nothing any more; the failure was reported by run().
  }
}

void WeightStream::run(const std::function<void(LoadProgress)>& progress, const std::atomic<bool>& cancelled) {
  uint64_t done = 0;
  uint64_t reported = 0;
  for (size_t index = 0; index < chunks_.size(); ++index) {
    if (cancelled.load()) {
      throw Error(ErrorCode::kCancelled, "loading was cancelled after " + formatBytes(done) + " of " +
                                             formatBytes(totalBytes_));
    }
    const WeightChunk& chunk = chunks_[index];
    if (index + 1 < chunks_.size()) {
      const WeightChunk& next = chunks_[index + 1];
      files_.willRead(next.file, next.offset, next.bytes);
    }
    Slice& slice = slices_[index % kSlices];
    slice.copied->synchronize();
    files_.read(chunk.file, chunk.offset, slice.data, chunk.bytes);
    send(chunk, slice);
    done += chunk.bytes;
    if (done - reported < kProgressBytes || done == totalBytes_) continue;  // the end is told below
    reported = done;
    if (progress) progress({done, totalBytes_});
  }
  stream_->synchronize();
  if (progress) progress({totalBytes_, totalBytes_});
}

void WeightStream::send(const WeightChunk& chunk, Slice& slice) {
  const bool converts = chunk.fileType != chunk.targetType;
  void* const landing = converts ? staging_.data() : chunk.target;  // one staging slice: the stream keeps order
  device_.copy(landing, slice.data, chunk.bytes, CopyKind::kHostToDevice, *stream_);
  slice.copied->record(*stream_);
  if (!converts) return;
  const auto count = static_cast<int64_t>(chunk.bytes / dtypeBytes(chunk.fileType));
  device_.ops().convert(chunk.target, chunk.targetType, landing, chunk.fileType, count, *stream_);
}

}  // namespace octavo
