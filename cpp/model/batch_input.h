// The device form of a batch: all its arrays in one buffer, filled by one copy.
#pragma once

#include "memory/allocator.h"
#include "model/batch.h"

namespace octavo {

/** Pointers into the device buffer. */
struct DeviceBatch {
  const int32_t* tokens = nullptr;     // [T]
  const int32_t* positions = nullptr;  // [T]
  const int64_t* slots = nullptr;      // [T]
  const int32_t* logitRows = nullptr;  // [R]
  AttentionBatch attention;
};

class BatchInput {
 public:
  /** Takes the device buffer (region graph) and its pinned image (region pinned). Throws kOutOfMemory. */
  BatchInput(DeviceAllocator& allocator, const BatchLimits& limits);

  /** Of the device buffer, before the allocator rounds it. */
  static size_t plannedBytes(const BatchLimits& limits);

  /** Packs and enqueues the copy. The image must not be in use by an earlier copy. Throws kInternal. */
  DeviceBatch upload(const Batch& batch, Device& device, Stream& stream);

 private:
  BatchLimits limits_;
  Allocation memory_;
  Allocation image_;
};

}  // namespace octavo
