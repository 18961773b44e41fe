// What a block of a prefill kernel works on.
#pragma once

#include "cuda/attention/cache_layout.cuh"

namespace octavo::cuda {

/** Some query tokens of one head, the first at `position`. */
struct PrefillWork {
  int first, rows, position;
  int head, sequence;
  int firstTile, endTile;  // of keys that any of them sees; tiles are cut from key 0

  __device__ __forceinline__ int endKey() const { return position + rows; }
  /** Whether any of them sees keys up to `end`: blocks of others need not be there. */
  __device__ __forceinline__ bool seesBefore(int end, int window) const {
    return window <= 0 || end > position - window + 1;
  }
  /** The cache block with the keys of numbers from `index` · blockSize. */
  __device__ __forceinline__ int blockAt(const AttentionBatch& batch, int index) const {
    return batch.blockTable[static_cast<int64_t>(sequence) * batch.tableStride + index];
  }
};

/** Tiles of queries of a batch, with room for a partial one a sequence. */
template <int kQueries>
int queryTiles(const AttentionBatch& batch) {
  return batch.tokens / kQueries + batch.sequences;
}

/**
 * The queries of tile `number`; false where there are none. Tiles are numbered so that sequence s owns numbers
 * queryStart[s] / kQueries + s and up: enough for its queries, and found by a binary search. Sequences of fewer than
 * `least` queries are left to the decode kernels.
 */
template <int kQueries, int kKeys>
__device__ __forceinline__ bool findPrefillWork(const AttentionBatch& batch, int least, int window, int number,
                                                int head, PrefillWork& work) {
  int low = 0, high = batch.sequences - 1;
  while (low < high) {
    int middle = (low + high + 1) / 2;
    if (batch.queryStart[middle] / kQueries + middle <= number) low = middle;
    else high = middle - 1;
  }
  int start = batch.queryStart[low], length = batch.queryStart[low + 1] - start;
  int offset = (number - start / kQueries - low) * kQueries;
  if (length < least || offset >= length) return false;
  work.first = start + offset;
  work.rows = min(kQueries, length - offset);
  work.position = batch.contextLength[low] - length + offset;
  work.head = head;
  work.sequence = low;
  work.firstTile = window > 0 ? max(0, work.position - window + 1) / kKeys : 0;
  work.endTile = (work.endKey() + kKeys - 1) / kKeys;
  return true;
}

}  // namespace octavo::cuda
