// Attention of single query tokens over the paged cache: split keys, online softmax, no score memory.
//
// A work item is a query token and up to kHeads query heads of one KV head, so a key is read once for all
// of them. Its keys are cut in tiles of 16, dealt in turn to 32 *parts*: 8 splits of 4 warps. A part keeps
// its own running maximum, sum and accumulator (Milakov & Gimelshein 2018; the split is that of
// flash-decoding). Parts are merged in one fixed order: along the splits for each warp, then along the warps.
//
// Which block works on which split does not change that order: on sm_90 a cluster of 8 blocks takes one
// split each and merges through distributed shared memory, elsewhere (and where the batch fills the device
// anyway) one block takes all splits. Both give the same bits, and a token's result does not depend on its
// batch. No scratch memory is needed.
//
// Within a warp kLanes lanes share a key, 8 elements each, and 32 / kLanes keys are in work at once. Codes of a cache
// become fp32 as they are read; the scale of a key multiplies its score, that of a value its weight.
//
// Measured on an H200, bf16, 32 query and 8 KV heads of 128, 2026-11-29, median, useful bytes:
//   1 × 1000 tokens 15 µs; 1 × 8192 55 µs; 1 × 131072 697 µs (0.77 TB/s: 64 blocks do not fill the card);
//   64 × 4096 421 µs (2.55 TB/s); 256 × 1024 443 µs (2.42 TB/s). Next rung: scores on the tensor cores.
#pragma once

#include <cooperative_groups.h>

#include "cuda/attention/attention.h"
#include "cuda/attention/cache_layout.cuh"
#include "cuda/attention/decode_row.cuh"
#include "cuda/attention/decode_state.cuh"
#include "cuda/attention/variant.cuh"
#include "cuda/device/floats.cuh"

namespace octavo::cuda::decode {

constexpr int kThreads = kWarps * 32;
constexpr int kBlocksPerSm = 4;
constexpr int kSplits = 8;
constexpr int kTileKeys = 16;  // divides every block size: a tile lies in one cache block
constexpr int kBatch = 4;      // keys a lane loads before it uses the first

struct Arguments {
  Heads out, query;
  CacheLayout cache;
  AttentionBatch batch;
  Variant variant;
  float scaleLog2;    // scale · log2(e): scores are kept in log2
  int32_t window;
  int32_t groupSize;  // query heads a KV head
  bool chunked;       // rows of the cache are whole chunks of 8 elements, on a boundary of as many
  bool everyToken;    // items are query tokens; otherwise sequences, of which longer queries are skipped
};

/** One work item: a query token with the keys it sees. */
struct Item {
  int64_t token;
  const int32_t* blocks;       // of its sequence
  int kvHead, firstHead;       // firstHead: of the query heads
  int heads;                   // query heads in work, ≤ kHeads
  int firstKey, endKey;
};

template <int kHeads>
__device__ __forceinline__ bool findItem(const Arguments& a, Item& item) {
  int index = blockIdx.x, sequence = index;
  if (a.everyToken) {
    sequence = sequenceOf(a.batch, index);
    item.token = index;
  } else {
    item.token = a.batch.queryStart[sequence];
  }
  int start = a.batch.queryStart[sequence];
  int queryLength = a.batch.queryStart[sequence + 1] - start;
  if (!a.everyToken && queryLength != 1) return false;
  int chunks = (a.groupSize + kHeads - 1) / kHeads;
  int chunk = blockIdx.y % chunks * kHeads;
  item.kvHead = blockIdx.y / chunks;
  item.firstHead = item.kvHead * a.groupSize + chunk;
  item.heads = min(kHeads, a.groupSize - chunk);
  int position = a.batch.contextLength[sequence] - queryLength + static_cast<int>(item.token - start);
  item.endKey = position + 1;
  item.firstKey = a.window > 0 ? max(0, position - a.window + 1) : 0;
  item.blocks = a.batch.blockTable + static_cast<int64_t>(sequence) * a.batch.tableStride;
  return true;
}

/** The keys and values that a lane's slot has in work. */
template <typename Element>
struct Batch {
  Row<Element> keys[kBatch], values[kBatch];
  RowScales<Element> scales[kBatch];
  bool seen[kBatch];
};

/** Adds kBatch keys, their scores and values, to the running softmax. */
template <typename Element, int kHeads, int kLanes>
__device__ __forceinline__ void addKeys(State<kHeads>& state, const float (&query)[kHeads][kChunk],
                                        const Batch<Element>& batch, const Arguments& a) {
  float scores[kHeads][kBatch];
#pragma unroll
  for (int u = 0; u < kBatch; ++u) {
    float key[kChunk];
    batch.keys[u].unpack(key, a.cache.dtype);
#pragma unroll
    for (int h = 0; h < kHeads; ++h) {
      float dot = 0;
#pragma unroll
      for (int i = 0; i < kChunk; ++i) dot = fmaf(query[h][i], key[i], dot);
#pragma unroll
      for (int offset = kLanes / 2; offset > 0; offset >>= 1) dot += __shfl_xor_sync(0xffffffffu, dot, offset);
      scores[h][u] = batch.scales[u].ofKey(dot);
    }
  }
  if (a.variant.cap > 0) {  // for all at once: with a branch a score the shuffles of each would wait for the last ones'
#pragma unroll
    for (int h = 0; h < kHeads; ++h) {
#pragma unroll
      for (float& score : scores[h]) score = capped(score, a.variant.cap);
    }
  }
#pragma unroll
  for (int h = 0; h < kHeads; ++h) {
    float maximum = state.maximum[h];
#pragma unroll
    for (int u = 0; u < kBatch; ++u) {
      if (!batch.seen[u]) scores[h][u] = -INFINITY;
      maximum = fmaxf(maximum, scores[h][u]);
    }
    float base = maximum == -INFINITY ? 0.0f : maximum;  // nothing seen yet: every weight below is 0
    float correction = exp2f(state.maximum[h] - base);
    state.maximum[h] = maximum;
    state.sum[h] *= correction;
#pragma unroll
    for (int i = 0; i < kChunk; ++i) state.values[h][i] *= correction;
#pragma unroll
    for (int u = 0; u < kBatch; ++u) {
      scores[h][u] = exp2f(scores[h][u] - base);
      state.sum[h] += scores[h][u];
    }
  }
#pragma unroll
  for (int u = 0; u < kBatch; ++u) {
    float value[kChunk];
    batch.values[u].unpack(value, a.cache.dtype);
#pragma unroll
    for (int h = 0; h < kHeads; ++h) {
      const float weight = batch.scales[u].ofValue(scores[h][u]);
#pragma unroll
      for (int i = 0; i < kChunk; ++i) state.values[h][i] = fmaf(weight, value[i], state.values[h][i]);
    }
  }
}

/** All keys of one part: tiles part, part + 32, part + 64 … */
template <typename Element, int kHeads, int kLanes>
__device__ __forceinline__ void attendPart(State<kHeads>& state, const Arguments& a, const Item& item,
                                           const float (&query)[kHeads][kChunk], int part) {
  constexpr int kSlots = 32 / kLanes;  // keys in work at once
  constexpr int kParts = kWarps * kSplits;
  int lane = threadIdx.x % 32, slot = lane / kLanes, column = lane % kLanes * kChunk;
  int count = a.cache.headDim - column;
  const Element* cache = static_cast<const Element*>(a.cache.data) + item.kvHead * a.cache.headStride + column;
  int firstTile = item.firstKey / kTileKeys;
  int tile = firstTile + (part - firstTile % kParts + kParts) % kParts;
  for (; tile * kTileKeys < item.endKey; tile += kParts) {
    int tileKey = tile * kTileKeys, inBlock = tileKey % a.cache.blockSize;
    const int64_t number = item.blocks[tileKey / a.cache.blockSize];
    const Element* block = cache + number * a.cache.blockStride + static_cast<int64_t>(inBlock) * a.cache.headDim;
#pragma unroll
    for (int first = 0; first < kTileKeys; first += kBatch * kSlots) {
      Batch<Element> batch;
#pragma unroll
      for (int u = 0; u < kBatch; ++u) {
        int offset = first + u * kSlots + slot, key = tileKey + offset;
        batch.seen[u] = key >= item.firstKey && key < item.endKey;
        batch.keys[u].clear();
        batch.values[u].clear();  // what lies past the context may be NaN
        if (!batch.seen[u]) continue;
        batch.scales[u].load(a.cache, number, item.kvHead, inBlock + offset);
        if (count <= 0) continue;
        const Element* at = block + offset * a.cache.headDim;
        batch.keys[u].load(at + a.cache.keyStart, count, a.chunked);
        batch.values[u].load(at + a.cache.valueStart, count, a.chunked);
      }
      addKeys<Element, kHeads, kLanes>(state, query, batch, a);
    }
  }
}

/** Merges all parts of outputs rank, rank + blocks, … and stores them. `partsOf(split)` is a block's parts. */
template <int kHeads, typename PartsOf>
__device__ __forceinline__ void mergeParts(const Arguments& a, const Item& item, int rank, int blocks,
                                           PartsOf partsOf) {
  int dim = a.cache.headDim;
  for (int i = rank * kThreads + static_cast<int>(threadIdx.x); i < item.heads * dim; i += blocks * kThreads) {
    int head = i / dim, column = i % dim;
    Merged total;
#pragma unroll
    for (int warp = 0; warp < kWarps; ++warp) {
      int index = warp * kHeads + head;
      Merged strand;
      for (int split = 0; split < blocks; ++split) {
        Parts<kHeads> parts = partsOf(split);
        strand.add(parts.maximum[index], parts.sum[index], parts.values[index * dim + column]);
      }
      total.add(strand.maximum, strand.sum, strand.value);
    }
    const SoftmaxEnd end(a.variant, item.firstHead + head, total.maximum, total.sum);
    int64_t to = item.token * a.out.tokenStride + static_cast<int64_t>(item.firstHead + head) * dim + column;
    storeFloat(a.out.data, a.out.dtype, to, total.value * end.factor);
    if (column == 0) end.store(a.variant, item.token, item.firstHead + head);
  }
}

/** The blocks of an item, gridDim.z of them, are a cluster; each takes an equal share of the splits. */
template <typename Element, int kHeads, int kLanes>
__global__ void __launch_bounds__(kThreads, kBlocksPerSm) decodeKernel(const __grid_constant__ Arguments a) {
  extern __shared__ float shared[];
  Item item;
  if (!findItem<kHeads>(a, item)) return;  // the same for all blocks of a cluster
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32, column = lane % kLanes * kChunk;
  float query[kHeads][kChunk];
#pragma unroll
  for (int h = 0; h < kHeads; ++h) {
    int64_t from = item.token * a.query.tokenStride + static_cast<int64_t>(item.firstHead + h) * a.cache.headDim;
#pragma unroll
    for (int i = 0; i < kChunk; ++i) {
      bool valid = h < item.heads && column + i < a.cache.headDim;
      query[h][i] = valid ? loadFloat(a.query.data, a.query.dtype, from + column + i) * a.scaleLog2 : 0.0f;
    }
  }
  Parts<kHeads> parts(shared, a.cache.headDim);
  State<kHeads> state;
  bool clustered = gridDim.z > 1;
  int firstSplit = clustered ? static_cast<int>(blockIdx.z) : 0;
  int endSplit = clustered ? firstSplit + 1 : kSplits;
  for (int split = firstSplit; split < endSplit; ++split) {
    state.clear();
    attendPart<Element, kHeads, kLanes>(state, a, item, query, split * kWarps + warp);
    mergeSlots<kHeads, kLanes>(state);
    leavePart<kHeads, kLanes>(parts, state, split == firstSplit);
  }
#if __CUDA_ARCH__ >= 900
  if (clustered) {
    auto cluster = cooperative_groups::this_cluster();
    cluster.sync();
    mergeParts<kHeads>(a, item, blockIdx.z, kSplits, [&](int split) {
      return Parts<kHeads>(cluster.map_shared_rank(shared, split), a.cache.headDim);
    });
    cluster.sync();  // nobody leaves while its shared memory may be read
    return;
  }
#endif
  __syncthreads();
  mergeParts<kHeads>(a, item, 0, 1, [&](int) { return parts; });
}

}  // namespace octavo::cuda::decode
