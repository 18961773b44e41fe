// Attention of prompt chunks over the paged cache on the tensor cores of any card (Dao, FlashAttention-2, 2023).
//
// A block takes 128 query tokens of one head, a warp 32 of them (16 where the head dim leaves no registers for more):
// the more rows share a fragment of keys, the less shared memory is read. Keys and values come in tiles of 64 through
// a ring of three by cp.async: while one is multiplied, the next two are under way. Scores, sums and output are fp32,
// weights are rounded to 16 bits for the second product. Tiles are cut at multiples of 64 from key 0 and taken in
// ascending order: a row's result depends on its position and keys alone; tiles it does not see change nothing in it.
// Codes of a cache become 16-bit numbers on their way, in the registers of the lanes that copy them.
//
// Measured on an H200, bf16, causal half counted, blocks of 32, 2026-11-30, TFLOP/s: 8192 tokens, 32 query and 32 KV
// heads of 128 303, 64 and 8 heads 337; 32768 tokens 357; 16384 tokens of dim 64 267, of 256 289. 255 registers (dim
// 64: 226, 256: 250), 4 bytes spilt at 128. With the address of every row of a tile worked out anew it was 276; with 64 rows a
// block, 16 a warp, and the weights as two 16-bit numbers each, 101. Next rung: wgmma and TMA.
#pragma once

#include <type_traits>

#include "cuda/attention/attention.h"
#include "cuda/attention/prefill_scales.cuh"
#include "cuda/attention/prefill_softmax.cuh"
#include "cuda/attention/prefill_work.cuh"
#include "cuda/device/alignment.h"
#include "cuda/device/cuda_check.h"
#include "cuda/device/shared_memory.h"
#include "cuda/ptx/warp_mma.cuh"

namespace octavo::cuda::prefill {

constexpr int kQueries = 128, kKeys = 64;
constexpr int kRun = 16;  // consecutive keys that always lie in one cache block
constexpr int kRing = 3;

struct Arguments {
  Heads out, query;
  CacheLayout cache;
  AttentionBatch batch;
  Variant variant;
  float scaleLog2;
  int32_t window;
  int32_t groupSize;
  bool storesPairs;  // the output is of 16 bits and aligned
  int32_t leastQueries;  // of a sequence
};

/** Tiles of 16 rows a warp; warps; and what lies in shared memory: queries, the ring, starts of runs of two tiles. */
template <int kDim>
struct Shape {
  static constexpr int kTiles = kDim > 128 ? 1 : 2, kWarps = kQueries / (16 * kTiles), kThreads = kWarps * 32;
  static constexpr int kRowBytes = kDim * 2, kTileBytes = kKeys * kRowBytes, kQueryBytes = kQueries * kRowBytes;
  static constexpr int kStartBytes = 2 * (kKeys / kRun) * 8, kScaleBytes = TileScales<kKeys>::kBytes;
  static constexpr int kBytes = kQueryBytes + kRing * kTileBytes + kStartBytes;  // and scales, where there are codes
  static constexpr int kBlocks = kDim > 128 ? 1 : 2;  // a multiprocessor
};

/** The 16-byte chunks of a row are XOR-swizzled by the row. */
template <int kDim>
__device__ __forceinline__ uint32_t swizzled(int row, int chunk) {
  return static_cast<uint32_t>(row * kDim * 2 + ((chunk & ~7) | ((chunk ^ row) & 7)) * 16);
}

template <int kDim>
__device__ __forceinline__ void copyQueries(uint32_t to, const Arguments& a, const PrefillWork& work) {
  const uint16_t* query = static_cast<const uint16_t*>(a.query.data) + static_cast<int64_t>(work.head) * a.query.dim;
#pragma unroll 4
  for (int i = threadIdx.x; i < kQueries * kDim / kChunk; i += Shape<kDim>::kThreads) {
    int row = i / (kDim / kChunk), chunk = i % (kDim / kChunk);
    bool valid = row < work.rows && chunk * kChunk < a.query.dim;
    ptx::copyAsync(to + swizzled<kDim>(row, chunk),
                   query + (valid ? (work.first + row) * a.query.tokenStride + chunk * kChunk : 0), valid);
  }
}

/** Where run `run` of a tile starts in the keys of a KV head, in elements; negative where no query sees it. */
__device__ __forceinline__ int64_t startOf(const Arguments& a, const PrefillWork& work, int tile, int run) {
  int key = tile * kKeys + run * kRun;
  if (key >= work.endKey() || !work.seesBefore(key + kRun, a.window)) return -1;
  return work.blockAt(a.batch, key / a.cache.blockSize) * a.cache.blockStride +
         static_cast<int64_t>(key % a.cache.blockSize) * a.cache.headDim;
}

/**
 * A tile of keys or values; zeros in runs that nobody sees and from the last key on, whatever the cache holds there.
 * `from`: of the lane's chunk and first row in a run that starts at 0.
 */
template <int kDim>
__device__ __forceinline__ void copyTile(uint32_t to, const uint16_t* from, const Arguments& a, const int64_t* starts,
                                         int rows) {
  constexpr int kChunks = kDim / kChunk, kPass = Shape<kDim>::kThreads / kChunks;
  static_assert(kRun % kPass == 0);
  int chunk = threadIdx.x % kChunks, first = threadIdx.x / kChunks;
  bool hasChunk = chunk * kChunk < a.cache.headDim;
  to += swizzled<kDim>(first, chunk);
  const int64_t step = hasChunk ? int64_t{kPass} * a.cache.headDim : 0;
#pragma unroll
  for (int run = 0; run < kKeys / kRun; ++run) {
    const int64_t start = starts[run];
    const bool isSeen = hasChunk && start >= 0;
    const uint16_t* source = isSeen ? from + start : from;
#pragma unroll
    for (int i = 0; i < kRun / kPass; ++i) {
      int row = run * kRun + i * kPass;
      ptx::copyAsync(to + row * Shape<kDim>::kRowBytes, source + i * step, isSeen && first + row < rows);
    }
  }
}

/** The same of codes, of kCode, which become 16-bit numbers on their way: exact, and without their scales. */
template <DType kCode, DType kType, int kDim>
__device__ __forceinline__ void copyCodes(uint32_t to, const uint8_t* from, const Arguments& a, const int64_t* starts,
                                          int rows) {
  constexpr int kChunks = kDim / kChunk, kPass = Shape<kDim>::kThreads / kChunks, kEach = kKeys / kPass;
  const int chunk = threadIdx.x % kChunks, first = threadIdx.x / kChunks;
  const bool hasChunk = chunk * kChunk < a.cache.headDim;
  uint2 codes[kEach];
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const int row = i * kPass;
    const int64_t start = starts[row / kRun];
    codes[i] = make_uint2(0, 0);
    if (!hasChunk || start < 0 || first + row >= rows) continue;
    codes[i] = *reinterpret_cast<const uint2*>(from + start + int64_t{row % kRun} * a.cache.headDim);
  }
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    uint32_t words[4];
    widenCodes<kCode, kType>(codes[i].x, words[0], words[1]);
    widenCodes<kCode, kType>(codes[i].y, words[2], words[3]);
    ptx::storeFourWords(to + swizzled<kDim>(first + i * kPass, chunk), words[0], words[1], words[2], words[3]);
  }
}

/** A warp's rows: the running softmax and the output so far. */
template <int kDim>
struct Rows {
  Softmax softmax[Shape<kDim>::kTiles];
  float out[Shape<kDim>::kTiles][kDim / 2] = {};
};

template <int kDim>
using Scores = float[Shape<kDim>::kTiles][kKeys / 2];

/** The four values of a product of 16 × 8, in the accumulators of a row of them. */
__device__ __forceinline__ float (&productAt(float* values, int column))[4] {
  return *reinterpret_cast<float (*)[4]>(values + column * 4);
}

template <DType kType, int kDim>
__device__ __forceinline__ void multiplyKeys(Scores<kDim>& scores, uint32_t query, uint32_t keys) {
  constexpr int kTiles = Shape<kDim>::kTiles;
  int lane = threadIdx.x % 32, first = threadIdx.x / 32 * 16 * kTiles;
#pragma unroll
  for (int m = 0; m < kTiles; ++m) {
#pragma unroll
    for (int i = 0; i < kKeys / 2; ++i) scores[m][i] = 0;
  }
#pragma unroll
  for (int step = 0; step < kDim / 16; ++step) {
    uint32_t q[kTiles][4];
#pragma unroll
    for (int m = 0; m < kTiles; ++m) {
      ptx::loadMatrices(q[m], query + swizzled<kDim>(first + m * 16 + (lane & 15), step * 2 + (lane >> 4)));
    }
#pragma unroll
    for (int j = 0; j < kKeys / 8; j += 2) {
      uint32_t k[4];
      ptx::loadMatrices(k, keys + swizzled<kDim>(j * 8 + (lane & 7) + 8 * (lane >> 4), step * 2 + ((lane >> 3) & 1)));
#pragma unroll
      for (int m = 0; m < kTiles; ++m) {
        ptx::multiplyAdd<kType>(productAt(scores[m], j), q[m], k[0], k[1]);
        ptx::multiplyAdd<kType>(productAt(scores[m], j + 1), q[m], k[2], k[3]);
      }
    }
  }
}

/** out += weights · V. */
template <DType kType, int kDim>
__device__ __forceinline__ void addValues(Rows<kDim>& rows, const uint32_t (&weights)[Shape<kDim>::kTiles][kKeys / 4],
                                          uint32_t values) {
  int lane = threadIdx.x % 32;
#pragma unroll
  for (int step = 0; step < kKeys / 16; ++step) {
#pragma unroll
    for (int j = 0; j < kDim / 8; j += 2) {
      uint32_t v[4];
      ptx::loadMatricesTransposed(v, values + swizzled<kDim>(step * 16 + (lane & 15), j + (lane >> 4)));
#pragma unroll
      for (int m = 0; m < Shape<kDim>::kTiles; ++m) {
        const auto& left = *reinterpret_cast<const uint32_t(*)[4]>(weights[m] + 4 * step);
        ptx::multiplyAdd<kType>(productAt(rows.out[m], j), left, v[0], v[1]);
        ptx::multiplyAdd<kType>(productAt(rows.out[m], j + 1), left, v[2], v[3]);
      }
    }
  }
}

template <int kDim>
__device__ __forceinline__ void store(const Rows<kDim>& rows, const Arguments& a, const PrefillWork& work) {
  int lane = threadIdx.x % 32;
#pragma unroll
  for (int half = 0; half < 2 * Shape<kDim>::kTiles; ++half) {
    int m = half / 2, r = half % 2;
    int row = threadIdx.x / 32 * 16 * Shape<kDim>::kTiles + m * 16 + lane / 4 + r * 8;
    const SoftmaxEnd end = endRow(rows.softmax[m], r, a.variant, work.head);
    const float scale = end.factor;
    if (row >= work.rows) continue;
    if (lane % 4 == 0) end.store(a.variant, work.first + row, work.head);
    int64_t to = (work.first + row) * a.out.tokenStride + static_cast<int64_t>(work.head) * a.out.dim;
#pragma unroll
    for (int j = 0; j < kDim / 8; ++j) {
      int column = j * 8 + lane % 4 * 2;
      if (column >= a.out.dim) break;
      float low = rows.out[m][4 * j + 2 * r] * scale, high = rows.out[m][4 * j + 2 * r + 1] * scale;
      storePair(a.out.data, a.out.dtype, to + column, low, high, a.storesPairs);
    }
  }
}

/** A warp's part in one tile of keys: scores, then weights. */
template <DType kType, int kDim>
struct Tile {
  bool isSeen;  // by any row of the warp
  int firstKey, position;

  __device__ __forceinline__ Tile(const Arguments& a, const PrefillWork& work, int tile) {
    constexpr int kRows = 16 * Shape<kDim>::kTiles;
    firstKey = tile * kKeys;
    position = work.position + static_cast<int>(threadIdx.x) / 32 * kRows;
    isSeen = firstKey <= position + kRows - 1 && (a.window <= 0 || firstKey + kKeys - 1 > position - a.window);
  }
  /** The weights of the tile's keys; the output so far is brought to their base. */
  __device__ __forceinline__ void weighKeys(Rows<kDim>& rows, uint32_t (&weights)[Shape<kDim>::kTiles][kKeys / 4],
                                            const Arguments& a, uint32_t query, uint32_t keys,
                                            const TileScales<kKeys>* scales) const {
    Scores<kDim> scores;
    multiplyKeys<kType, kDim>(scores, query, keys);
#pragma unroll
    for (int m = 0; m < Shape<kDim>::kTiles; ++m) {
      int top = position + m * 16;
      bool late = firstKey + kKeys - 1 > top, early = a.window > 0 && firstKey <= top + 15 - a.window;
      if (scales != nullptr) scales->multiplyKeys(scores[m]);
      if (a.variant.cap > 0) capScores(scores[m], a.variant, a.scaleLog2);
      if (scales != nullptr) scales->addLogs(scores[m], a.scaleLog2);
      if (late || early) maskScores(scores[m], top + static_cast<int>(threadIdx.x) % 32 / 4, firstKey, a.window);
      if (rises(rows.softmax[m], scores[m], a.scaleLog2)) {
        rebase(rows.softmax[m], scores[m], a.scaleLog2).apply(rows.out[m]);
      }
      if (scales != nullptr) scales->weigh(rows.softmax[m], scores[m], a.scaleLog2);
      else weigh(rows.softmax[m], scores[m], a.scaleLog2);
      packWeights<kType>(weights[m], scores[m]);
    }
  }
};

/** kCode: of the cache, fp32 where it has none. */
template <DType kType, int kDim, DType kCode>
__global__ void __launch_bounds__(Shape<kDim>::kThreads, Shape<kDim>::kBlocks)
    prefillKernel(const __grid_constant__ Arguments a) {
  using S = Shape<kDim>;
  extern __shared__ __align__(128) uint8_t shared[];
  const uint32_t query = ptx::sharedAddress(shared), ring = query + S::kQueryBytes;
  int64_t* starts = reinterpret_cast<int64_t*>(shared + S::kQueryBytes + kRing * S::kTileBytes);
  TileScales<kKeys>* const scales = reinterpret_cast<TileScales<kKeys>*>(shared + S::kBytes);
  const bool hasScales = isCode(kCode) && a.cache.hasScales();
  PrefillWork work;
  // Late positions have the most keys: they start first.
  const int tile = gridDim.y - 1 - blockIdx.y;
  if (!findPrefillWork<kQueries, kKeys>(a.batch, a.leastQueries, a.window, tile, blockIdx.x, work)) return;
  // The lane's chunk of its first row, in a head's first block. Dims past the cache's are never read there.
  constexpr int kChunks = kDim / kChunk;
  const int chunk = threadIdx.x % kChunks * kChunk, firstRow = threadIdx.x / kChunks;
  using Element = std::conditional_t<isCode(kCode), uint8_t, uint16_t>;
  const Element* const cache = static_cast<const Element*>(a.cache.data) +
                               work.head / a.groupSize * a.cache.headStride +
                               (chunk < a.cache.headDim ? firstRow * a.cache.headDim + chunk : 0);

  // Copy 2 i is of the keys of the block's tile i, copy 2 i + 1 of its values; each has the ring's next slot.
  int copySlot = 0, slot = 0;
  auto copy = [&](int tile, int plane) {
    uint32_t to = ring + copySlot * S::kTileBytes;
    if (tile < work.endTile) {
      const Element* from = cache + (plane == 0 ? a.cache.keyStart : a.cache.valueStart);
      const int64_t* const of = starts + (tile & 1) * (kKeys / kRun);
      const int rows = work.endKey() - tile * kKeys;
      if constexpr (isCode(kCode)) {
        copyCodes<kCode, kType, kDim>(to, from, a, of, rows);
        // With the values: by then the scores of the tile before have met theirs.
        if (plane == 1 && hasScales && threadIdx.x < kKeys) {
          scales->load(a.cache, a.batch, work, tile, static_cast<int>(threadIdx.x), a.window, a.groupSize);
        }
      } else {
        copyTile<kDim>(to, from, a, of, rows);
      }
    }
    ptx::commitCopies();
    copySlot = copySlot == kRing - 1 ? 0 : copySlot + 1;
  };
  auto take = [&]() {
    uint32_t from = ring + slot * S::kTileBytes;
    slot = slot == kRing - 1 ? 0 : slot + 1;
    return from;
  };
  const int ahead = threadIdx.x / (kKeys / kRun), run = threadIdx.x % (kKeys / kRun);
  if (ahead < 2) {
    int tile = work.firstTile + ahead;
    starts[(tile & 1) * (kKeys / kRun) + run] = startOf(a, work, tile, run);
  }
  copyQueries<kDim>(query, a, work);
  __syncthreads();
  copy(work.firstTile, 0);
  copy(work.firstTile, 1);
  Rows<kDim> rows;
  for (int tile = work.firstTile; tile < work.endTile; ++tile) {
    const Tile<kType, kDim> part(a, work, tile);
    uint32_t weights[S::kTiles][kKeys / 4];
    ptx::waitCopies<1>();
    __syncthreads();  // the keys are there, and the values before them are done with
    copy(tile + 1, 0);
    int64_t start = ahead == 0 ? startOf(a, work, tile + 2, run) : 0;
    const uint32_t keys = take();
    if (part.isSeen) part.weighKeys(rows, weights, a, query, keys, hasScales ? scales : nullptr);
    if (ahead == 0) starts[(tile & 1) * (kKeys / kRun) + run] = start;
    ptx::waitCopies<1>();
    __syncthreads();  // the values are there, and the keys are done with
    copy(tile + 1, 1);
    const uint32_t values = take();
    if (part.isSeen) addValues<kType, kDim>(rows, weights, values);
  }
  store(rows, a, work);
}

template <DType kType, int kDim, DType kCode>
void launch(const Arguments& a, cudaStream_t stream) {
  constexpr auto kKernel = prefillKernel<kType, kDim, kCode>;
  constexpr int kBytes = Shape<kDim>::kBytes + (isCode(kCode) ? Shape<kDim>::kScaleBytes : 0);
  allowSharedMemory<kKernel>(kBytes);
  dim3 grid(static_cast<unsigned>(a.query.heads), static_cast<unsigned>(queryTiles<kQueries>(a.batch)));
  kKernel<<<grid, Shape<kDim>::kThreads, kBytes, stream>>>(a);
  checkLaunch("prefillAttention");
}

template <DType kType, DType kCode>
void launchDim(const Arguments& a, cudaStream_t stream) {
  if (a.query.dim <= 64) launch<kType, 64, kCode>(a, stream);
  else if (a.query.dim <= 128) launch<kType, 128, kCode>(a, stream);
  else launch<kType, 256, kCode>(a, stream);
}

/** One a translation unit, so that they compile side by side. */
void launchFloats(const Arguments& a, cudaStream_t stream);
void launchE4m3(const Arguments& a, cudaStream_t stream);
void launchInt8(const Arguments& a, cudaStream_t stream);

}  // namespace octavo::cuda::prefill
