// How the keys of a step's decodes are dealt to workers.
//
// A *slice* is 16 keys of one item; an item is a sequence and a KV head (and, for large groups, a share of its
// query heads). Items lie one after the other on a line of slices, sequence by sequence; worker i owns the chunks
// that start in the i-th equal part of the line. How an item is cut into chunks depends on its own length alone,
// and chunks are folded in order: so a result does not depend on the batch, on the number of workers, or on
// which worker arrived last.
#pragma once

#include "cuda/attention/attention.h"
#include "cuda/attention/cache_layout.cuh"

namespace octavo::cuda::split {

constexpr int kSliceKeys = 16;  // divides every block size: a slice lies in one cache block
constexpr int kMaxChunks = 64;  // of an item

struct Arguments {
  Heads out, query;
  CacheLayout cache;
  AttentionBatch batch;
  float scaleLog2;    // scale · log2(e): scores are kept in log2
  int32_t window;
  int32_t blockShift;  // log2 of the slices in a cache block
  int32_t groupSize;  // query heads a KV head
  int32_t headShare;  // of these, in one item
  int32_t shares;     // items a KV head
  int32_t* arrivals;   // [sequences, kvHeads · shares] chunks that have arrived; all zero between launches
  float4* partials;    // [workers, slots] pieces of items
  int32_t slots;       // a worker: most chunks of an item
  int32_t layer;
  int32_t planes;      // of keys or values in a block: 2 · layers
};

/** Short contexts are cut finely, so that one sequence fills the card; none is cut into more than kMaxChunks. */
__device__ __forceinline__ int chunkSlices(int slices) {
  if (slices <= kMaxChunks) return 4;
  if (slices <= 2 * kMaxChunks) return 8;
  return max(16, (slices + kMaxChunks - 1) / kMaxChunks);
}

__device__ __forceinline__ int roundUp(int value, int multiple) { return (value + multiple - 1) / multiple * multiple; }

/** The keys that a sequence's query token sees. No slices where it has other than one query token. */
struct Keys {
  int first, end;
  int firstSlice, slices;
  __device__ __forceinline__ Keys(const Arguments& a, int sequence) {
    bool decodes = a.batch.maxQueryLength == 1 || a.batch.queryStart[sequence + 1] - a.batch.queryStart[sequence] == 1;
    end = a.batch.contextLength[sequence];
    first = a.window > 0 ? max(0, end - a.window) : 0;
    firstSlice = first / kSliceKeys;
    slices = decodes ? (end + kSliceKeys - 1) / kSliceKeys - firstSlice : 0;
  }
};

/** The line of all slices and its equal parts. */
struct Line {
  int total, workers;
  int quotient, remainder;  // of total by workers

  __device__ __forceinline__ Line(int total, int workers)
      : total(total), workers(workers), quotient(total / workers), remainder(total - quotient * workers) {}
  __device__ __forceinline__ int start(int worker) const { return worker * quotient + min(worker, remainder); }
  /** The worker in whose part a position lies. */
  __device__ __forceinline__ int workerAt(int position) const {
    int longer = remainder * (quotient + 1);
    return position < longer ? position / (quotient + 1) : remainder + (position - longer) / quotient;
  }
};

/** Consecutive slices [begin, end) of one item, whole chunks of it, that one worker owns. */
struct Segment {
  int sequence, item;
  int begin, end;    // counted from the item's first slice
  int chunk;         // slices a chunk
  int position;      // of the item's first slice on the line
  Keys keys;

  __device__ __forceinline__ bool isEmpty() const { return begin >= end; }
  __device__ __forceinline__ int chunks() const { return (keys.slices + chunk - 1) / chunk; }
  /** Chunks of the item that start before `at` on the line. */
  __device__ __forceinline__ int chunksBefore(int at) const {
    int slices = at - position;
    if (slices <= 0) return 0;
    return slices >= keys.slices ? chunks() : (slices + chunk - 1) / chunk;
  }
};

__device__ __forceinline__ int itemsOf(const Arguments& a) { return a.cache.kvHeads * a.shares; }

/** Sets begin and end for an item from its chunk `first` up to the line's position `lineEnd`. */
__device__ __forceinline__ void takeChunks(Segment& segment, int first, int lineEnd) {
  segment.begin = first * segment.chunk;
  segment.end = min(segment.keys.slices, segment.chunksBefore(lineEnd) * segment.chunk);
}

/** The item that follows; empty when it starts at or past `lineEnd`. */
__device__ __forceinline__ void advance(const Arguments& a, Segment& segment, int lineEnd) {
  segment.position += segment.keys.slices;
  if (segment.position >= lineEnd) {
    segment.begin = segment.end = 0;
    return;
  }
  if (++segment.item == itemsOf(a)) {
    segment.item = 0;
    do {
      segment.keys = Keys(a, ++segment.sequence);
    } while (segment.keys.slices == 0);
    segment.chunk = chunkSlices(segment.keys.slices);
  }
  takeChunks(segment, 0, lineEnd);
}

__device__ __forceinline__ int sumOverWarp(int value) {
#pragma unroll
  for (int offset = 16; offset > 0; offset >>= 1) value += __shfl_xor_sync(0xffffffffu, value, offset);
  return value;
}

/** The first segment of the worker whose part of the line is [lineStart, lineEnd), by a whole warp. */
__device__ __forceinline__ Segment firstSegment(const Arguments& a, int lineStart, int lineEnd) {
  int lane = threadIdx.x % 32, items = itemsOf(a);
  int sequence = 0, before = 0;  // slices of all items in earlier sequences
  for (int first = 0;; first += 32) {
    int slices = first + lane < a.batch.sequences ? Keys(a, first + lane).slices * items : 0;
    int sum = slices;
#pragma unroll
    for (int offset = 1; offset < 32; offset <<= 1) {
      int below = __shfl_up_sync(0xffffffffu, sum, offset);
      if (lane >= offset) sum += below;
    }
    unsigned past = __ballot_sync(0xffffffffu, before + sum > lineStart);
    if (past != 0) {
      int found = __ffs(static_cast<int>(past)) - 1;
      sequence = first + found;
      before += __shfl_sync(0xffffffffu, sum - slices, found);
      break;
    }
    before += __shfl_sync(0xffffffffu, sum, 31);
  }
  Keys keys(a, sequence);
  int item = (lineStart - before) / keys.slices;
  Segment segment{sequence, item, 0, 0, chunkSlices(keys.slices), before + item * keys.slices, keys};
  takeChunks(segment, segment.chunksBefore(lineStart), lineEnd);
  if (segment.begin >= segment.keys.slices) advance(a, segment, lineEnd);
  return segment;
}

}  // namespace octavo::cuda::split
