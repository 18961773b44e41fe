// How the latents of a step's decodes are dealt to multiprocessors: as split_schedule.cuh deals keys to warps.
//
// An item is 16 rows of a sequence (row r is head r % heads of its query token r / heads) with all its tiles of 32
// latents. Items lie one after the other on a line of tiles; a worker owns the chunks that start in its equal part.
// How an item is cut into chunks depends on its context alone, and chunks are folded in order.
#pragma once

#include "cuda/attention/mla.h"
#include "cuda/attention/split_schedule.cuh"
#include "ops/latent_scratch.h"

namespace octavo::cuda::mla {

using split::Line;
using split::sumOverWarp;

constexpr int kTileKeys = 32;  // divides the block sizes that the kernel takes
constexpr int kTileRows = LatentScratchLayout::kTileRows;
constexpr int kMaxChunks = LatentScratchLayout::kMostParts;
constexpr int kChunkTiles = LatentScratchLayout::kPartKeys / kTileKeys;

struct Arguments {
  Heads out, query;
  AttentionBatch batch;
  float scaleLog2;  // scale · log2(e): scores are kept in log2
  int32_t blockShift, layer, layers;  // blockShift: log2 of the tiles in a cache block
  int32_t* arrivals;   // [sequences, rowTiles] chunks that have arrived; all zero between launches
  int32_t rowTiles;
  float4* partials;    // [workers, slots] pieces of items
  int32_t slots;
};

/** Short contexts are cut finely, so that one sequence fills the card; none is cut into more than kMaxChunks. */
__device__ __forceinline__ int chunkTiles(int tiles) {
  if (tiles <= 4 * kChunkTiles) return kChunkTiles / 4;
  if (tiles <= 8 * kChunkTiles) return kChunkTiles / 2;
  return max(kChunkTiles, (tiles + kMaxChunks - 1) / kMaxChunks);
}

/** A sequence of the batch; without tiles where it does not decode. */
struct Sequence {
  int first, queries, context;  // its first query token, how many there are
  int tiles, items;

  __device__ __forceinline__ Sequence(const Arguments& a, int index) {
    first = a.batch.queryStart[index];
    queries = a.batch.queryStart[index + 1] - first;
    context = a.batch.contextLength[index];
    bool decodes = queries > 0 && queries <= LatentScratchLayout::kMostQueries;
    tiles = decodes ? (context + kTileKeys - 1) / kTileKeys : 0;
    items = (queries * a.query.heads + kTileRows - 1) / kTileRows;
  }
  __device__ __forceinline__ int length() const { return tiles == 0 ? 0 : tiles * items; }
};

/** Consecutive tiles [begin, end) of one item, whole chunks of it, that one worker owns. */
struct Segment {
  Sequence sequence;
  int index, item;  // of the sequence in the batch, of the item in the sequence
  int begin, end;
  int chunk;        // tiles a chunk
  int position;     // of the item's first tile on the line

  __device__ __forceinline__ bool isEmpty() const { return begin >= end; }
  __device__ __forceinline__ bool isWhole() const { return begin == 0 && end == sequence.tiles; }
  __device__ __forceinline__ int chunks() const { return (sequence.tiles + chunk - 1) / chunk; }
  /** Chunks of the item that start before `at` on the line. */
  __device__ __forceinline__ int chunksBefore(int at) const {
    int tiles = at - position;
    if (tiles <= 0) return 0;
    return tiles >= sequence.tiles ? chunks() : (tiles + chunk - 1) / chunk;
  }
  /** Sets begin and end from chunk `first` up to the line's position `lineEnd`. */
  __device__ __forceinline__ void take(int first, int lineEnd) {
    begin = first * chunk;
    end = min(sequence.tiles, chunksBefore(lineEnd) * chunk);
  }
};

/** The item that follows; empty when it starts at or past `lineEnd`. */
__device__ __forceinline__ void advance(const Arguments& a, Segment& segment, int lineEnd) {
  segment.position += segment.sequence.tiles;
  if (segment.position >= lineEnd) {
    segment.begin = segment.end = 0;
    return;
  }
  if (++segment.item == segment.sequence.items) {
    segment.item = 0;
    do {
      segment.sequence = Sequence(a, ++segment.index);
    } while (segment.sequence.tiles == 0);
    segment.chunk = chunkTiles(segment.sequence.tiles);
  }
  segment.take(0, lineEnd);
}

/** All of the line, and no more workers than give each a chunk. By a whole warp. */
__device__ __forceinline__ Line lineOf(const Arguments& a) {
  int tiles = 0, chunks = 0;
#pragma unroll 2
  for (int index = threadIdx.x % 32; index < a.batch.sequences; index += 32) {
    Sequence sequence(a, index);
    if (sequence.tiles == 0) continue;
    int chunk = chunkTiles(sequence.tiles);
    tiles += sequence.length();
    chunks += (sequence.tiles + chunk - 1) / chunk * sequence.items;
  }
  return {sumOverWarp(tiles), max(1, min(sumOverWarp(chunks), static_cast<int>(gridDim.x)))};
}

/** The first segment of the worker whose part of the line is [lineStart, lineEnd). By a whole warp. */
__device__ __forceinline__ Segment firstSegment(const Arguments& a, int lineStart, int lineEnd) {
  int lane = threadIdx.x % 32, index = 0, before = 0;  // before: tiles of all items in earlier sequences
  for (int first = 0;; first += 32) {
    int tiles = first + lane < a.batch.sequences ? Sequence(a, first + lane).length() : 0;
    int sum = tiles;
#pragma unroll
    for (int offset = 1; offset < 32; offset <<= 1) {
      int below = __shfl_up_sync(0xffffffffu, sum, offset);
      if (lane >= offset) sum += below;
    }
    unsigned past = __ballot_sync(0xffffffffu, before + sum > lineStart);
    if (past != 0) {
      int found = __ffs(static_cast<int>(past)) - 1;
      index = first + found;
      before += __shfl_sync(0xffffffffu, sum - tiles, found);
      break;
    }
    before += __shfl_sync(0xffffffffu, sum, 31);
  }
  Sequence sequence(a, index);
  int item = (lineStart - before) / sequence.tiles;
  Segment segment{sequence, index, item, 0, 0, chunkTiles(sequence.tiles), before + item * sequence.tiles};
  segment.take(segment.chunksBefore(lineStart), lineEnd);
  if (segment.begin >= sequence.tiles) advance(a, segment, lineEnd);
  return segment;
}

/** What an item was cut into: all chunks of the worker where it starts, then chunks one by one. */
struct Pieces {
  const Line& line;
  const Segment& item;
  int worker, chunks;  // where it starts, and the chunks there

  __device__ __forceinline__ Pieces(const Line& line, const Segment& item)
      : line(line), item(item), worker(line.workerAt(item.position)),
        chunks(item.chunksBefore(line.start(worker + 1))) {}
  __device__ __forceinline__ int count() const { return item.chunks() - chunks + 1; }
  __device__ __forceinline__ int slot(int index, int slots) const {
    if (index == 0) return worker * slots;
    int chunk = chunks + index - 1, owner = line.workerAt(item.position + chunk * item.chunk);
    return owner * slots + chunk - item.chunksBefore(line.start(owner)) + 1;
  }
};

/** A row of an item: where it lies, and how many keys it sees. */
struct Row {
  int token, head, keys;
  bool exists;

  __device__ __forceinline__ Row(const Arguments& a, const Segment& segment, int index) {
    int row = segment.item * kTileRows + index;
    exists = row < segment.sequence.queries * a.query.heads;
    if (!exists) row = 0;
    int query = row / a.query.heads;
    token = segment.sequence.first + query;
    head = row - query * a.query.heads;
    keys = segment.sequence.context - segment.sequence.queries + query + 1;
  }
};

}  // namespace octavo::cuda::mla
