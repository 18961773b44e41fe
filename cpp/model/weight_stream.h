// File → pinned ring → device: the way of the weights.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "memory/allocator.h"
#include "model/checkpoint_files.h"
#include "model/ring_shape.h"
#include "model/weights.h"
#include "ops/repack.h"

namespace octavo {

/** Elements of a file and where they go, converted or repacked where they change. */
struct WeightChunk {
  int32_t file = 0;
  uint64_t offset = 0;
  size_t bytes = 0;           // in the file
  DType fileType = DType::kF32;
  void* target = nullptr;     // device memory
  DType targetType = DType::kF32;
  std::optional<Repack> repack;  // all but `from`

  bool changes() const { return repack || fileType != targetType; }
};

/**
 * Threads of its own read chunks into the slices of the ring, in order and several at once, while the calling
 * thread hands what has arrived to the device. Chunks that change are converted or repacked on the device, by way of
 * a staging slice. Ring (region pinned, a buffer a slice) and staging (region workspace) live as long as the stream;
 * its destructor waits for what was enqueued. Where device memory is the host's, chunks that need no conversion are
 * read straight to their target.
 */
class WeightStream {
 public:
  /** No chunk may be larger than a slice of `shape`. Throws kOutOfMemory. */
  WeightStream(DeviceAllocator& allocator, const CheckpointFiles& files, const std::vector<WeightChunk>& chunks,
               const RingShape& shape, const StreamOptions& options);
  ~WeightStream();
  WeightStream(const WeightStream&) = delete;
  WeightStream& operator=(const WeightStream&) = delete;

  /** Everything is in place on return. Once. Throws kIoFailed, kCheckpointInvalid, kCancelled, kDeviceFailed. */
  void run(const std::function<void(LoadProgress)>& progress, const std::atomic<bool>& cancelled);

 private:
  struct Slice {
    Allocation buffer;            // absent in a ring of no bytes
    std::unique_ptr<Event> copied;
    size_t arrived = 0;           // chunks 0 … arrived − 1 of this slice were read; counts over all slices
    std::exception_ptr failure;   // of reading the last of them
  };

  void startReaders();
  void stopReaders() noexcept;
  void readChunks();
  void readChunk(size_t index, Slice& slice);
  Slice& awaitChunk(size_t index);
  bool isDirect(const WeightChunk& chunk) const;
  void send(const WeightChunk& chunk, Slice& slice);

  Device& device_;
  const CheckpointFiles& files_;
  const std::vector<WeightChunk>& chunks_;
  const uint64_t failChunk_;
  uint64_t totalBytes_ = 0;
  bool dropBehind_ = false;
  Allocation staging_;
  std::unique_ptr<Stream> stream_;
  std::vector<Slice> slices_;  // chunk i passes through slice i mod size

  std::mutex mutex_;
  std::condition_variable changed_;
  size_t next_ = 0;            // the chunk that the next reader takes
  size_t sent_ = 0;            // chunks handed to the device: their slices may be read into again
  bool stopping_ = false;
  std::vector<std::thread> readers_;
};

}  // namespace octavo
