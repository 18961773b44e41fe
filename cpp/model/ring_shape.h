// How large the pinned ring is that weights stream through.
#pragma once

#include <cstddef>
#include <cstdint>

namespace octavo {

struct RingShape {
  static constexpr int kMostSlices = 8;

  int slices = 0;
  size_t slice = 0;       // bytes of one, a class of the pinned pool; of the staging slice too; 0: no ring
  bool converts = false;  // chunks change their type on the device, by way of a staging slice

  /**
   * The most a chunk may have: a 64th of the file bytes, 256 KiB to 8 MiB, so that staging stays below 5 % of the
   * weights even where fp32 becomes a half of its size, and one read or copy is long enough to hide its start.
   * Less where two slices would pass `ringLimit`, but never below 4 KiB.
   */
  static size_t sliceBytes(uint64_t fileBytes, size_t ringLimit);
  /** As many slices as `ringLimit` allows, 2 to kMostSlices; for a chunk of 0 bytes a ring of none. */
  static RingShape of(size_t largestChunk, bool converts, size_t ringLimit);

  size_t bytes() const { return slice * static_cast<size_t>(slices); }
};

}  // namespace octavo
