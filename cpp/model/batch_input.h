// The device form of a batch: all its arrays in one buffer, filled by one copy.
#pragma once

#include "memory/allocator.h"
#include "model/batch.h"
#include "ops/ops.h"

namespace octavo {

struct InputLayout;

/** Pointers into the device buffer. */
struct DeviceBatch {
  int32_t* tokens = nullptr;           // [T]
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
  /** Of the pinned images: one for each step that may be under way. */
  static size_t pinnedBytes(const BatchLimits& limits);

  /**
   * Packs and enqueues the copy. What was uploaded `stepsAtOnce` calls ago must have been read by the device; its
   * image is overwritten. Throws kInternal.
   */
  DeviceBatch upload(const Batch& batch, Device& device, Stream& stream);
  /** Of decodes as they are packed, at most: one token of as many sequences as a step may have. */
  static size_t decodeBytes(const BatchLimits& limits);
  static size_t packedBytes(const Batch& batch);
  /** Writes packedBytes of host memory. Throws kInternal. */
  void pack(const Batch& batch, void* image) const;
  /** Of the table of decodes that are recorded, before the allocator rounds it; 0 without graphs. */
  static size_t tableBytes(const BatchLimits& limits);
  /**
   * Where so many decodes lie that were padded to that number (Batch::padTo) and packed, whatever their contexts: up to
   * `mostContext`; `image`: what was packed, in device memory. Enqueues what brings their block tables to a place that
   * does not depend on how wide they are.
   */
  DeviceBatch decodes(const void* image, int32_t sequences, int32_t mostContext, Ops& ops, Stream& stream);

 private:
  BatchLimits limits_;
  Allocation memory_;
  Allocation images_;
  Allocation table_;  // [maxSequences, maxBlocksPerSequence], with graphs
  int32_t next_ = 0;  // image
};

}  // namespace octavo
