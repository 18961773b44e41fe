// What a load reads, and where it goes: every stored tensor once.
#pragma once

#include "model/ring_shape.h"
#include "model/weight_layout.h"
#include "model/weight_stream.h"

namespace octavo {

/** A stored tensor to its place in the arena: as it is, converted, or repacked. */
struct WeightTransfer {
  const StoredTensor* tensor = nullptr;
  DType targetType = DType::kF32;
  size_t offset = 0;                // in the arena
  std::optional<Repack> repack;     // `from`, `to` and the rows are a chunk's

  bool changes() const { return repack || tensor->dtype != targetType; }
  /** The most a chunk has, where slices are to have `sliceBytes`: whole units of what is repacked, one at least. */
  size_t chunkBytes(size_t sliceBytes) const;
};

/** Without what stays in its file, and without what is read on the host: group indices and input scales. */
std::vector<WeightTransfer> transfersOf(const WeightLayout& layout);

uint64_t bytesOf(const std::vector<WeightTransfer>& transfers);

/** In pieces, in the order of the files, so that disks read forward. */
std::vector<WeightChunk> chunksOf(const std::vector<WeightTransfer>& transfers, size_t sliceBytes, void* arena);

/** The shape of the ring, without a chunk being made. */
RingShape ringOf(const std::vector<WeightTransfer>& transfers, bool sharesHostMemory, size_t ringLimit);

}  // namespace octavo
