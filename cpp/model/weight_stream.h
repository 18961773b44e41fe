// File → pinned ring → device: the way of the weights.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "memory/allocator.h"
#include "model/checkpoint_files.h"
#include "model/weights.h"

namespace octavo {

/** Elements of a file and where they go. At most WeightStream::sliceBytes of the file. */
struct WeightChunk {
  int32_t file = 0;
  uint64_t offset = 0;
  size_t bytes = 0;           // in the file
  DType fileType = DType::kF32;
  void* target = nullptr;     // device memory
  DType targetType = DType::kF32;
};

/**
 * Reads a chunk into one slice of the ring while the device still copies out of the others. Chunks of another
 * type than their target are converted on the device, by way of a staging slice. Ring (region pinned) and
 * staging (region workspace) live as long as the stream; its destructor waits for what was enqueued.
 */
class WeightStream {
 public:
  static constexpr int kSlices = 3;

  /**
   * A 64th of the file bytes, 256 KiB to 16 MiB: staging stays below 5 % of the weights even where fp32 becomes
   * a half of its size, and one read or copy is long enough to hide its start.
   */
  static size_t sliceBytes(uint64_t totalBytes);

  /** Slices are as large as the largest chunk. Throws kOutOfMemory. */
  WeightStream(DeviceAllocator& allocator, const CheckpointFiles& files, const std::vector<WeightChunk>& chunks);
  ~WeightStream();
  WeightStream(const WeightStream&) = delete;
  WeightStream& operator=(const WeightStream&) = delete;

  /** Everything is in place on return. Throws kIoFailed, kCheckpointInvalid, kCancelled, kDeviceFailed. */
  void run(const std::function<void(LoadProgress)>& progress, const std::atomic<bool>& cancelled);

 private:
  struct Slice {
    void* data = nullptr;
    std::unique_ptr<Event> copied;
  };
  void send(const WeightChunk& chunk, Slice& slice);

  Device& device_;
  const CheckpointFiles& files_;
  const std::vector<WeightChunk>& chunks_;
  uint64_t totalBytes_ = 0;
  Allocation ring_;
  Allocation staging_;
  std::unique_ptr<Stream> stream_;
  Slice slices_[kSlices];
};

}  // namespace octavo
