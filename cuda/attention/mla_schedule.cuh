// How the latents of a step's decodes are dealt to multiprocessors.
//
// An item is some rows of a sequence (row r is head r % heads of its query token r / heads) with all its tiles of
// latents. Items lie one after the other on a line of tiles; a worker owns the chunks that start in its equal part. How
// an item is cut into chunks depends on its own length alone, and chunks are folded in order: so a result does not
// depend on the batch, on the number of workers, or on which worker arrived last.
//
// The chunks of an item lie on the line from the last to the first. A worker goes along its part: so the first chunks
// of an item that two share are done at once, and when the other comes to the last ones, at its end, it takes the
// fold of those before and goes on from there.
//
// Shape: the kernel's kTileKeys and kTileRows, chunkTiles(tiles) and takes(rows of a sequence); of a slice its first row
// and column, and kVectors, the float4 that a lane keeps of it: one of maxima and sums, one for each 8 columns.
#pragma once

#include "cuda/attention/mla.h"
#include "cuda/device/floats.cuh"
#include "ops/latent_scratch.h"

namespace octavo::cuda::mla {

struct Arguments {
  Heads out, query;
  AttentionBatch batch;
  float scaleLog2;  // scale · log2(e)
  int32_t blockShift, layer, layers;  // blockShift: log2 of the tiles in a cache block
  bool hasWide;        // sequences of many rows are the wide kernel's
  int32_t workers;     // at most
  int32_t abreast;     // blocks that are a worker, each with other items of a sequence: they share its latents in the L2
  int32_t* progress;   // [sequences, rowTiles, kSlices], see mla_combine.cuh; all zero between launches
  int32_t rowTiles;
  float4* partials;    // [workers, abreast, slots, kSlices, Shape::kVectors, 32] pieces of items
  int32_t slots;
  const char* latents;  // the cache
  int32_t sharers;      // blocks, of those abreast, to all of which one brings latents
};

/** An item's output is cut into the parts of a warp: 16 rows each, in the fragments of mma.m16n8k16. */
constexpr int kSlices = LatentScratchLayout::kSlices;

template <DType kType>
__device__ __forceinline__ uint32_t packPair(float low, float high) {
  return kType == DType::kBF16 ? packBf16(low, high) : packF16(low, high);
}

/** A sequence of the batch; without tiles where it is not this kernel's. */
template <typename Shape>
struct Sequence {
  int first, queries, context;  // its first query token, how many there are
  int tiles, items;

  __device__ __forceinline__ Sequence(const Arguments& a, int index) {
    first = a.batch.queryStart[index];
    queries = a.batch.queryStart[index + 1] - first;
    context = a.batch.contextLength[index];
    int rows = queries * a.query.heads;
    bool decodes = queries > 0 && queries <= LatentScratchLayout::kMostQueries && Shape::takes(a, rows);
    tiles = decodes ? (context + Shape::kTileKeys - 1) / Shape::kTileKeys : 0;
    items = (rows + Shape::kTileRows - 1) / Shape::kTileRows;
  }
  /** On the line, where items that are worked on side by side count once. */
  __device__ __forceinline__ int length(const Arguments& a) const { return tiles == 0 ? 0 : tiles * groups(a); }
  __device__ __forceinline__ int groups(const Arguments& a) const { return (items + a.abreast - 1) / a.abreast; }
};

/** The line of all tiles and its equal parts. */
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

/** Consecutive tiles [begin, end) of one item, whole chunks of it, that one worker owns. */
template <typename Shape>
struct Segment {
  Sequence<Shape> sequence;
  int index, item;  // of the sequence in the batch, of the item in the sequence
  int begin, end;
  int chunk;        // tiles a chunk
  int position;     // of the item's first tile on the line

  __device__ __forceinline__ bool isEmpty() const { return begin >= end; }
  /** False for the block that has nothing to do beside its neighbour. */
  __device__ __forceinline__ bool exists() const { return item < sequence.items; }
  __device__ __forceinline__ int chunks() const { return (sequence.tiles + chunk - 1) / chunk; }
  /** Chunks of the item that lie before `at` on the line: its last ones. */
  __device__ __forceinline__ int chunksBefore(int at) const {
    int tiles = at - position;
    if (tiles <= 0) return 0;
    return tiles >= sequence.tiles ? chunks() : (tiles + chunk - 1) / chunk;
  }
  /** Sets begin and end to the chunks from the line's position `lineStart` up to `lineEnd`. */
  __device__ __forceinline__ void take(int lineStart, int lineEnd) {
    begin = (chunks() - chunksBefore(lineEnd)) * chunk;
    end = min(sequence.tiles, (chunks() - chunksBefore(lineStart)) * chunk);
  }
};

/** The item that follows; empty when it starts at or past `lineEnd`. */
template <typename Shape>
__device__ __forceinline__ void advance(const Arguments& a, Segment<Shape>& segment, int lineEnd) {
  segment.position += segment.sequence.tiles;
  if (segment.position >= lineEnd) {
    segment.begin = segment.end = 0;
    return;
  }
  segment.item += a.abreast;
  if (segment.item / a.abreast == segment.sequence.groups(a)) {
    segment.item %= a.abreast;
    do {
      segment.sequence = Sequence<Shape>(a, ++segment.index);
    } while (segment.sequence.tiles == 0);
    segment.chunk = Shape::chunkTiles(segment.sequence.tiles);
  }
  segment.take(segment.position, lineEnd);
}

__device__ __forceinline__ int sumOverWarp(int value) {
#pragma unroll
  for (int offset = 16; offset > 0; offset >>= 1) value += __shfl_xor_sync(0xffffffffu, value, offset);
  return value;
}

/**
 * All of the line, and no more workers than are done in the time of the one with most chunks: others would only cut
 * items into more pieces. `before`: tiles of sequences before `end`. By a warp.
 */
template <typename Shape>
__device__ __forceinline__ Line lineOf(const Arguments& a, int end, int& before) {
  int tiles = 0, chunks = 0, passed = 0;
#pragma unroll 4
  for (int index = threadIdx.x % 32; index < a.batch.sequences; index += 32) {
    Sequence<Shape> sequence(a, index);
    if (sequence.tiles == 0) continue;
    int chunk = Shape::chunkTiles(sequence.tiles);
    tiles += sequence.length(a);
    if (index < end) passed += sequence.length(a);
    chunks += (sequence.tiles + chunk - 1) / chunk * sequence.groups(a);
  }
  before = sumOverWarp(passed);
  chunks = max(1, sumOverWarp(chunks));
  const int most = (chunks + a.workers - 1) / a.workers;  // that a worker has
  return {sumOverWarp(tiles), (chunks + most - 1) / most};
}

/** The first segment of block `place` of the worker whose part of the line is [lineStart, lineEnd). By a whole warp. */
template <typename Shape>
__device__ __forceinline__ Segment<Shape> firstSegment(const Arguments& a, int place, int lineStart, int lineEnd) {
  int lane = threadIdx.x % 32, index = 0, before = 0;  // before: tiles of all items in earlier sequences
  for (int first = 0;; first += 32) {
    int tiles = first + lane < a.batch.sequences ? Sequence<Shape>(a, first + lane).length(a) : 0;
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
  Sequence<Shape> sequence(a, index);
  int group = (lineStart - before) / sequence.tiles, chunk = Shape::chunkTiles(sequence.tiles);
  Segment<Shape> segment{sequence, index, group * a.abreast + place, 0, 0, chunk, before + group * sequence.tiles};
  segment.take(lineStart, lineEnd);
  if (segment.isEmpty()) advance(a, segment, lineEnd);
  return segment;
}

/** Of block `place` of a worker. */
__device__ __forceinline__ int firstSlot(const Arguments& a, int worker, int place) {
  return (worker * a.abreast + place) * a.slots;
}

/**
 * What an item was cut into: the fold of all chunks of the worker that has the first, then chunks one by one. A worker
 * keeps that fold in the first of its slots, what else it has to remember in those after it.
 */
template <typename Shape>
struct Pieces {
  const Line& line;
  const Segment<Shape>& item;
  int worker, chunks;  // who has the first chunk, and how many with it

  __device__ __forceinline__ Pieces(const Line& line, const Segment<Shape>& item)
      : line(line), item(item), worker(line.workerAt(item.position + (item.chunks() - 1) * item.chunk)),
        chunks(item.chunks() - item.chunksBefore(line.start(worker))) {}
  __device__ __forceinline__ int count() const { return item.chunks() - chunks + 1; }
  __device__ __forceinline__ int slot(const Arguments& a, int index) const {
    if (index == 0) return firstSlot(a, worker, item.item % a.abreast);
    int chunk = chunks + index - 1, owner = line.workerAt(item.position + (item.chunks() - 1 - chunk) * item.chunk);
    int own = chunk - (item.chunks() - item.chunksBefore(line.start(owner + 1)));
    return firstSlot(a, owner, item.item % a.abreast) + own + 1;
  }
};

/** A row of an item: where it lies, and how many keys it sees. */
struct Row {
  int token, head, keys;
  bool exists;

  template <typename Shape>
  __device__ __forceinline__ Row(const Arguments& a, const Segment<Shape>& segment, int index) {
    int row = segment.item * Shape::kTileRows + index;
    exists = row < segment.sequence.queries * a.query.heads;
    if (!exists) row = 0;
    int query = row / a.query.heads;
    token = segment.sequence.first + query;
    head = row - query * a.query.heads;
    keys = segment.sequence.context - segment.sequence.queries + query + 1;
  }
};

}  // namespace octavo::cuda::mla
