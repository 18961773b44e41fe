// How the keys of a step's decodes are dealt to multiprocessors.
//
// A *slice* is 16 keys of one item; an item is a sequence and a KV head (and, for large groups, a share of its query
// heads). A *chunk* is some slices of an item, dealt round to the warps of one block; four chunks are a *quad*, four
// quads a *group*. What a chunk is depends on the item's own length alone; chunks are folded into quads, these into
// groups and these into the item, in order, whoever made them. So a result does not depend on the batch, on the number
// of blocks, or on who arrived last. A *unit* is what a block takes at a time: a chunk, a quad or a whole item, by the
// size of the batch. The first units go to the blocks in turn, every other one to the block that asks first:
// multiprocessors read at different speeds.
#pragma once

#include "cuda/attention/attention.h"
#include "cuda/attention/cache_layout.cuh"
#include "cuda/attention/variant.cuh"

namespace octavo::cuda::split {

constexpr int kSliceKeys = 16;    // divides every block size: a slice lies in one cache block
constexpr int kQuad = 4;          // chunks
constexpr int kGroup = 16;        // chunks
constexpr int kMostTokens = 8;    // query tokens of a sequence that decodes
constexpr int kWhole = 1 << 30;   // chunks in a unit that is a whole item
constexpr int kUnitsEach = 2;     // chunks are units of their own as long as there are no more of them a block
constexpr int kNearSequences = 512;  // whose lengths a block keeps at hand

struct Arguments {
  Heads out, query;
  CacheLayout cache;
  AttentionBatch batch;
  Variant variant;
  float scaleLog2;     // scale · log2(e): scores are kept in log2
  int32_t window;
  int32_t blockShift;  // log2 of the slices in a cache block
  int32_t groupSize;   // query heads a KV head
  int32_t headShare;   // of these, in one item
  int32_t shares;      // items a KV head
  int32_t rows;        // query rows of an item, at most
  int32_t* ticket;     // the next unit that nobody has taken; zero between launches
  int32_t* arrivals;   // [sequences, kvHeads · shares, finishers] groups that have arrived; all zero between launches
  int32_t* groupArrivals;  // [capacity, finishers] pieces that have arrived, at a group's first one; zero as well
  float4* pieces;      // [capacity] of units, then two of each block
  int32_t capacity;
  int32_t layer;
  int32_t planes;      // of keys or values in a block: 2 · layers
};

/**
 * log2 of a chunk's slices: short contexts are cut finely, so that one fills the card; long ones into 256. Of codes
 * twice as many slices are as many bytes, and states for finishers to fold are fewer.
 */
__device__ __forceinline__ int chunkShift(const Arguments& a, int slices) {
  if (slices <= 128) return 3;
  return (slices <= 256 ? 4 : max(5, 24 - __clz(slices - 1))) + (isCode(a.cache.dtype) ? 1 : 0);
}

__device__ __forceinline__ int ceilDivide(int value, int divisor) { return (value + divisor - 1) / divisor; }

/** Where a sequence's query tokens stand. */
struct Stand {
  int token, tokens;  // its first one in the batch, and how many
  int end;            // of its context
  __device__ __forceinline__ Stand(const Arguments& a, int sequence) {
    token = a.batch.maxQueryLength > 1 ? a.batch.queryStart[sequence] : sequence;
    tokens = a.batch.maxQueryLength > 1 ? a.batch.queryStart[sequence + 1] - token : 1;
    end = a.batch.contextLength[sequence];
  }
  Stand() = default;
};

/** The keys that these see. No slices where another kernel takes the sequence. */
template <bool kFew>
struct Keys {
  int first, end;    // first: of the first token, negative where nothing is out of its window
  int token, tokens;
  int firstSlice, slices;
  __device__ __forceinline__ Keys(const Arguments& a, const Stand& stand)
      : end(stand.end), token(stand.token), tokens(kFew ? stand.tokens : 1) {
    first = a.window > 0 ? end - (tokens - 1) - a.window : -kMostTokens;
    firstSlice = max(0, first) / kSliceKeys;
    bool decodes = kFew ? tokens > 1 && tokens <= kMostTokens : stand.tokens == 1;
    slices = decodes ? ceilDivide(end, kSliceKeys) - firstSlice : 0;
  }
};

__device__ __forceinline__ int itemsOf(const Arguments& a) { return a.cache.kvHeads * a.shares; }

/** Units of an item of so many slices. */
__device__ __forceinline__ int unitsOf(const Arguments& a, int slices, int unitChunks) {
  const int shift = chunkShift(a, slices), chunks = (slices + (1 << shift) - 1) >> shift;
  return unitChunks == 1 ? chunks : unitChunks == kQuad ? ceilDivide(chunks, kQuad) : min(chunks, 1);
}

/** Consecutive chunks of an item that a block takes at once. Slices are counted from the item's first. */
struct alignas(16) Unit {
  int chunk;                      // slices in a chunk
  int firstChunk, endChunk;
  int chunks;                     // of the item; 0: there is no unit, and no more will come
  int slices;                     // of the item
  int firstKey;                   // of the item's first slice
  int first, end;                 // keys that the first and the last query token see from, and up to
  int token, tokens;              // query tokens in the batch
  int firstHead, share;           // query heads of the item
  int row, head;                  // sequence, KV head
  int number, index;              // among all units, among the item's
  int slot, step;                 // of the item's first one among all, and from one of them to the next
  int pieces, counter;            // units of the item; where they are counted
  int isWhole;

  /** Whether a quad, or a unit of one chunk, ends with `at`. */
  __device__ __forceinline__ bool endsWith(int at) const { return at + 1 == endChunk || at % kQuad == kQuad - 1; }
  __device__ __forceinline__ int endSlice() const { return min(slices, endChunk * chunk); }
};

/** The cache block in which a slice of the unit lies; 0 past its last one. */
__device__ __forceinline__ int blockOf(const Arguments& a, const Unit& unit, int slice) {
  if (slice >= unit.endSlice()) return 0;
  const int64_t row = static_cast<int64_t>(unit.row) * a.batch.tableStride;
  return a.batch.blockTable[row + ((unit.firstKey / kSliceKeys + slice) >> a.blockShift)];
}

__device__ __forceinline__ int scanOverWarp(int value) {
#pragma unroll
  for (int offset = 1; offset < 32; offset <<= 1) {
    int below = __shfl_up_sync(0xffffffffu, value, offset);
    if (static_cast<int>(threadIdx.x % 32) >= offset) value += below;
  }
  return value;
}

/**
 * All units in a row, by one warp: sequence by sequence; the items of a sequence in turn, for they lie apart in memory.
 * A lane knows `perLane` consecutive sequences.
 */
template <bool kFew>
class Deal {
 public:
  /** `near`: shared memory for kNearSequences. */
  __device__ __forceinline__ Deal(const Arguments& a, Stand* near)
      : a_(a), near_(near), perLane_(ceilDivide(a.batch.sequences, 32)) {
    const int lane = static_cast<int>(threadIdx.x % 32), items = itemsOf(a);
    int chunks = 0, quads = 0, whole = 0;
#pragma unroll 4
    for (int i = 0; i < perLane_; ++i) {
      const int sequence = lane * perLane_ + i;
      if (sequence >= a.batch.sequences) break;
      const Stand stand(a, sequence);
      if (sequence < kNearSequences) near[sequence] = stand;
      const int slices = Keys<kFew>(a, stand).slices;
      chunks += unitsOf(a, slices, 1);
      quads += unitsOf(a, slices, kQuad);
      whole += slices > 0;
    }
    __syncwarp();
    const int allChunks = items * __shfl_sync(0xffffffffu, chunks = scanOverWarp(chunks), 31);
    const int allQuads = items * __shfl_sync(0xffffffffu, quads = scanOverWarp(quads), 31);
    const int allItems = items * __shfl_sync(0xffffffffu, whole = scanOverWarp(whole), 31);
    const int blocks = static_cast<int>(gridDim.x);
    const bool byChunk = allChunks <= min(a.capacity, kUnitsEach * blocks);
    const bool byQuad = allQuads <= a.capacity;
    unitChunks_ = byChunk ? 1 : byQuad ? kQuad : kWhole;
    units_ = byChunk ? allChunks : byQuad ? allQuads : allItems;
    through_ = items * (byChunk ? chunks : byQuad ? quads : whole);
  }

  __device__ __forceinline__ int units() const { return units_; }

  __device__ __forceinline__ Unit unit(int number) const {
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int from = __popc(__ballot_sync(0xffffffffu, through_ <= number));  // lanes all of whose units come before
    int sequence = from * perLane_;
    int before = __shfl_sync(0xffffffffu, through_, max(0, from - 1));
    if (from == 0) before = 0;
    while (perLane_ > 1) {
      int mine = sequence + lane < a_.batch.sequences ? unitsOf(a_, keysOf(sequence + lane).slices, unitChunks_) : 0;
      int through = before + scanOverWarp(mine) * itemsOf(a_);
      unsigned past = __ballot_sync(0xffffffffu, through > number);
      if (past != 0) {
        int found = __ffs(static_cast<int>(past)) - 1;
        sequence += found;
        before = __shfl_sync(0xffffffffu, through - mine * itemsOf(a_), found);
        break;
      }
      before = __shfl_sync(0xffffffffu, through, 31);
      sequence += 32;
    }
    return unitOf(sequence, number, number - before);
  }

 private:
  __device__ __forceinline__ Keys<kFew> keysOf(int sequence) const {
    return {a_, sequence < kNearSequences ? near_[sequence] : Stand(a_, sequence)};
  }
  __device__ __forceinline__ Unit unitOf(int sequence, int number, int inSequence) const {
    const Keys<kFew> keys = keysOf(sequence);
    const int items = itemsOf(a_), index = inSequence / items, item = inSequence - index * items;
    const int kvHead = a_.shares == 1 ? item : item / a_.shares, share = (item - kvHead * a_.shares) * a_.headShare;
    Unit unit;
    const int shift = chunkShift(a_, keys.slices);
    unit.chunk = 1 << shift;
    unit.chunks = (keys.slices + unit.chunk - 1) >> shift;
    unit.isWhole = unitChunks_ == kWhole;
    unit.firstChunk = unit.isWhole ? 0 : index * unitChunks_;
    unit.endChunk = unit.isWhole ? unit.chunks : min(unit.chunks, unit.firstChunk + unitChunks_);
    unit.slices = keys.slices;
    unit.firstKey = keys.firstSlice * kSliceKeys;
    unit.first = keys.first;
    unit.end = keys.end;
    unit.token = keys.token;
    unit.tokens = keys.tokens;
    unit.firstHead = kvHead * a_.groupSize + share;
    unit.share = min(a_.headShare, a_.groupSize - share);
    unit.row = sequence;
    unit.head = kvHead;
    unit.number = number;
    unit.index = index;
    unit.slot = number - index * items;
    unit.step = items;
    unit.pieces = unitChunks_ == 1 ? unit.chunks : unit.isWhole ? 1 : ceilDivide(unit.chunks, kQuad);
    unit.counter = sequence * items + item;
    return unit;
  }

  const Arguments& a_;
  Stand* const near_;
  const int perLane_;
  int unitChunks_, units_;
  int through_;  // units of the sequences up to this lane's last
};

}  // namespace octavo::cuda::split
