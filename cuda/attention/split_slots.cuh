// Where workers leave what they have of an item that is not theirs alone, and how the last of them brings it together.
#pragma once

#include "cuda/attention/split_schedule.cuh"
#include "cuda/attention/split_softmax.cuh"

namespace octavo::cuda::split {

/** Query rows of an item. */
struct Rows {
  int64_t token;
  int firstHead, heads;
  __device__ __forceinline__ Rows(const Arguments& a, const Segment& segment) {
    int share = segment.item % a.shares * a.headShare;
    token = a.batch.maxQueryLength == 1 ? segment.sequence : a.batch.queryStart[segment.sequence];
    firstHead = segment.item / a.shares * a.groupSize + share;
    heads = min(a.headShare, a.groupSize - share);
  }
};

/** Writes dims `dim` and dim + 8 of query rows `row` and row + 1. */
template <DType kType, int kDim>
__device__ __forceinline__ void storeRows(const Arguments& a, const Rows& rows, int row, int dim, float4 values,
                                          float scale0, float scale1) {
  uint16_t* to = static_cast<uint16_t*>(a.out.data) + rows.token * a.out.tokenStride +
                 static_cast<int64_t>(rows.firstHead + row) * kDim + dim;
  uint32_t first = packPair<kType>(values.x * scale0, values.y * scale1);
  uint32_t second = packPair<kType>(values.z * scale0, values.w * scale1);
  if (row < rows.heads) {
    to[0] = static_cast<uint16_t>(first);
    to[8] = static_cast<uint16_t>(second);
  }
  if (row + 1 < rows.heads) {
    to[kDim] = static_cast<uint16_t>(first >> 16);
    to[kDim + 8] = static_cast<uint16_t>(second >> 16);
  }
}

__device__ __forceinline__ float inverse(float sum) { return sum > 0 ? 1.0f / sum : 0.0f; }

/** A slot holds a State: of each tile its maxima and sums, then its values, for the lanes that hold query rows. */
template <int kDim, int kTiles>
struct Slots {
  using Part = State<kDim, kTiles>;
  const Arguments& a;
  const Line& line;
  int lanes;  // that hold query rows: 8 · ceil(rows / 2), at most 32

  __device__ __forceinline__ Slots(const Arguments& a, const Line& line)
      : a(a), line(line), lanes(lanesFor(a.headShare)) {}
  static __host__ __device__ constexpr int lanesFor(int rows) { return rows >= 8 ? 32 : (rows + 1) / 2 * 8; }

  __device__ __forceinline__ int first(int worker) const { return worker * a.slots; }
  __device__ __forceinline__ int bytes() const { return Part::kVectors * lanes * 16; }
  __device__ __forceinline__ float4* at(int slot) const {
    return a.partials + static_cast<int64_t>(slot) * (Part::kVectors * lanes);
  }
  __device__ __forceinline__ void put(const Part& part, int slot) const {
    int lane = threadIdx.x % 32, column = lane % 4, columns = lanes / 8;
    if (column < columns) part.store(at(slot) + lane / 4 * columns + column, lanes);
  }
};

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

/** A warp's place in shared memory for the pieces of an item. */
struct Landing {
  float4* at;
  int bytes;
};

/**
 * Folds the pieces of an item in the order of its chunks and writes its rows. As many as the landing takes are fetched
 * at once; lanes find from the maxima how each is scaled. Where rows leave lanes idle, these take a share of the
 * dims. Kept small: it runs seldom, and then its code is not in the instruction cache.
 */
template <DType kType, int kDim, int kTiles, int kColumns>
struct Combine {
  static constexpr int kSharers = 4 / kColumns, kVectors = kDim / 16 * kTiles;
  static constexpr int kMine = (kVectors + kSharers - 1) / kSharers;

  const Slots<kDim, kTiles>& slots;
  int row = threadIdx.x % 32 / 4, column = threadIdx.x % 4 % kColumns, sharer = threadIdx.x % 4 / kColumns;
  int lane;  // whose vectors this one reads
  float maximum[kTiles][2], sum[kTiles][2];
  float left[kTiles][2], right[kTiles][2], sums[kTiles][2];  // of piece `row` of eight: its scale, that of those before
  float4 values[kMine];

  __device__ __forceinline__ explicit Combine(const Slots<kDim, kTiles>& slots) : slots(slots) {
    int columns = slots.lanes / 8;
    lane = row * columns + min(column, columns - 1);
#pragma unroll
    for (int i = 0; i < kMine; ++i) values[i] = make_float4(-0.0f, -0.0f, -0.0f, -0.0f);  // adding it changes no bit
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
      maximum[tile][0] = maximum[tile][1] = -INFINITY;
      sum[tile][0] = sum[tile][1] = 0;
    }
  }

  __device__ __forceinline__ void findScales(const float4* heads, bool valid) {
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
      float4 head = valid ? heads[tile * slots.lanes + lane] : make_float4(-INFINITY, -INFINITY, 0, 0);
      sums[tile][0] = head.z;
      sums[tile][1] = head.w;
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        float own = r == 0 ? head.x : head.y, most = own;
#pragma unroll
        for (int offset = 4; offset < 32; offset <<= 1) {
          float below = __shfl_up_sync(0xffffffffu, most, offset);
          if (static_cast<int>(threadIdx.x % 32) >= offset) most = fmaxf(most, below);
        }
        most = fmaxf(most, maximum[tile][r]);
        float before = __shfl_up_sync(0xffffffffu, most, 4);
        if (row == 0) before = maximum[tile][r];
        float base = most == -INFINITY ? 0.0f : most;
        left[tile][r] = exp2f(before - base);
        right[tile][r] = exp2f(own - base);
        maximum[tile][r] = __shfl_sync(0xffffffffu, most, 28 + threadIdx.x % 4);
      }
    }
  }

  /** Folds piece `index` of eight. */
  __device__ __forceinline__ void fold(const float4* piece, int index) {
    float l[kTiles][2], r[kTiles][2];
    int from = index * 4 + threadIdx.x % 4;
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
      for (int pair = 0; pair < 2; ++pair) {
        l[tile][pair] = __shfl_sync(0xffffffffu, left[tile][pair], from);
        r[tile][pair] = __shfl_sync(0xffffffffu, right[tile][pair], from);
        float s = __shfl_sync(0xffffffffu, sums[tile][pair], from);
        sum[tile][pair] = fmaf(s, r[tile][pair], sum[tile][pair] * l[tile][pair]);
      }
    }
#pragma unroll
    for (int i = 0; i < kMine; ++i) {
      constexpr int kTileMask = kTiles - 1;
      const int tile = i & kTileMask;  // no sharers where there are two
      int vector = i * kSharers + sharer;
      if (kVectors % kSharers != 0 && vector >= kVectors) break;
      float4 v = piece[(kTiles + vector) * slots.lanes + lane];
      values[i].x = fmaf(v.x, r[tile][0], values[i].x * l[tile][0]);
      values[i].y = fmaf(v.y, r[tile][1], values[i].y * l[tile][1]);
      values[i].z = fmaf(v.z, r[tile][0], values[i].z * l[tile][0]);
      values[i].w = fmaf(v.w, r[tile][1], values[i].w * l[tile][1]);
    }
  }

  /** Fetches piece after piece, every lane every 32nd vector. */
  __device__ __forceinline__ void fetch(const Landing& landing, int slot, int count) const {
    int vectors = slots.bytes() / 16;
#pragma unroll 1
    for (int piece = 0; piece < count; ++piece) {
      const float4* from = slots.at(__shfl_sync(0xffffffffu, slot, piece));
      uint32_t to = ptx::sharedAddress(landing.at + piece * vectors);
#pragma unroll 4
      for (int i = threadIdx.x % 32; i < vectors; i += 32) ptx::copyAsync(to + i * 16, from + i, true);
    }
    ptx::commitCopies();
    ptx::waitCopies<0>();
    __syncwarp();
  }

  __device__ __forceinline__ void run(const Pieces& pieces, const Landing& landing) {
    const int count = pieces.count(), vectors = slots.bytes() / 16, fit = landing.bytes / slots.bytes();
    const int batch = fit < 8 ? max(fit, 1) : min(32, fit / 8 * 8);
#pragma unroll 1
    for (int first = 0; first < count; first += batch) {
      int index = first + threadIdx.x % 32, size = min(batch, count - first);
      int slot = pieces.slot(min(index, count - 1), slots.a.slots);
      const float4* fetched = landing.at;
      if (fit > 0) fetch(landing, slot, size);
      else fetched = slots.at(__shfl_sync(0xffffffffu, slot, 0));  // read where it lies: nobody read it before
#pragma unroll 1
      for (int eight = 0; eight < size; eight += 8) {
        const float4* at = fetched + eight * vectors;
        findScales(at + row * vectors, eight + row < size);
#pragma unroll 2
        for (int i = 0; i < min(8, size - eight); ++i) fold(at + i * vectors, i);
      }
      __syncwarp();
    }
  }

  __device__ __forceinline__ void store(const Arguments& a, const Rows& rows) const {
#pragma unroll
    for (int i = 0; i < kMine; ++i) {
      constexpr int kTileMask = kTiles - 1;
      const int vector = i * kSharers + sharer, t = i & kTileMask;
      if (kVectors % kSharers != 0 && vector >= kVectors) break;
      storeRows<kType, kDim>(a, rows, vector % kTiles * 8 + column * 2, vector / kTiles * 16 + row, values[i],
                             inverse(sum[t][0]), inverse(sum[t][1]));
    }
  }
};

template <DType kType, int kDim, int kTiles, int kColumns>
__device__ __forceinline__ void combineColumns(const Slots<kDim, kTiles>& slots, const Segment& item,
                                               const Landing& landing) {
  Combine<kType, kDim, kTiles, kColumns> combine(slots);
  combine.run(Pieces(slots.line, item), landing);
  combine.store(slots.a, Rows(slots.a, item));
}

template <DType kType, int kDim, int kTiles>
__device__ __forceinline__ void combine(const Slots<kDim, kTiles>& slots, const Segment& item, const Landing& landing) {
  if constexpr (kTiles == 1) {
    if (slots.a.headShare <= 4) return combineColumns<kType, kDim, kTiles, 2>(slots, item, landing);
  }
  combineColumns<kType, kDim, kTiles, 4>(slots, item, landing);
}

}  // namespace octavo::cuda::split
