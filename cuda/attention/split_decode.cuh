// Decode attention at the speed of memory: keys are dealt evenly to warps, whatever the lengths of the sequences.
//
// A worker is a warp with its own ring of cp.async copies; no two warps ever wait for each other. It owns whole
// chunks of items (split_schedule.cuh). Per slice of 16 keys it makes Sᵀ = K · Qᵀ and Oᵀ += Vᵀ · Pᵀ with the
// query rows of a KV head's group as the 8 columns of mma.m16n8k16, so that grouped heads cost nothing and single
// heads little. Items that several workers share are folded by the one that arrives last, in the order of their
// chunks: no second launch, no float atomics, the same bits alone and in any batch.
//
// Measured on an H200, bf16, 32 query and 8 KV heads of 128, blocks of 32, shuffled, 2026-11-29, median of replayed
// graphs, KV bytes counted once (the kernel of decode.cuh beside it): 64 × 4096 290 µs, 3.70 TB/s (2.54); 256 ragged of
// 256 … 8192 4.09 (2.72); 16 × 4096 2.85 (1.97); 64 × 1024 2.72 (1.53); one of 1k 19.0 µs (14.5), of 8k 37 (53), of 32k
// 81 (183), of 128k 182 (697); 64 × 4096 with dim 64 3.42 (2.08), dim 256 3.61 (2.72). Next: even 64 × 4096 out to the
// tail, and the fixed 16 µs of a single sequence.
#pragma once

#include "cuda/attention/split_feed.cuh"

namespace octavo::cuda::split {

/** Where workers leave what they have of an item that is not theirs alone. */
template <int kDim, int kTiles>
struct Slots {
  using Part = State<kDim, kTiles>;
  float4* partials;
  int slots;  // a worker
  int lanes;  // that hold query rows: 8 · ceil(rows / 2), at most 32

  __device__ __forceinline__ Slots(const Arguments& a)
      : partials(a.partials), slots(a.slots), lanes(lanesFor(a.headShare)) {}
  static __host__ __device__ constexpr int lanesFor(int rows) { return rows >= 8 ? 32 : (rows + 1) / 2 * 8; }

  __device__ __forceinline__ float4* at(int worker, int slot) const {
    int lane = threadIdx.x % 32, column = lane % 4, columns = lanes / 8;
    int64_t index = static_cast<int64_t>(worker) * slots + slot;
    return partials + index * (Part::kVectors * lanes) + lane / 4 * columns + column;
  }
  __device__ __forceinline__ bool mine() const { return static_cast<int>(threadIdx.x % 4) < lanes / 8; }
  __device__ __forceinline__ void put(const Part& part, int worker, int slot) const {
    if (mine()) part.store(at(worker, slot), lanes);
  }
  __device__ __forceinline__ void get(Part& part, int worker, int slot) const {
    if (mine()) part.load(at(worker, slot), lanes);
  }
};

/** Walks the slots of an item in the order of its chunks. */
struct Walk {
  const Line& line;
  const Segment& item;
  int worker, slot = 0, chunk = 0, end = 0;

  __device__ __forceinline__ Walk(const Line& line, const Segment& item)
      : line(line), item(item), worker(line.workerAt(item.position)) {
    end = item.chunksBefore(line.start(worker + 1));
  }
  /** The first slot holds all chunks of the item's first worker. */
  __device__ __forceinline__ void skipFirst() { chunk = end; }
  __device__ __forceinline__ bool next() {
    if (chunk == item.chunks()) return false;
    if (chunk == end) {
      worker = line.workerAt(item.position + static_cast<int64_t>(chunk) * item.chunk);
      end = item.chunksBefore(line.start(worker + 1));
      slot = 0;
    }
    ++chunk;
    ++slot;
    return true;
  }
};

template <int kDim, int kTiles>
__device__ __forceinline__ void combine(State<kDim, kTiles>& total, const Slots<kDim, kTiles>& slots, const Line& line,
                                        const Segment& item) {
  constexpr int kAhead = kDim * kTiles <= 128 ? 4 : 1;  // parts that are loaded at once; more would spill
  Walk walk(line, item);
  total.clear();
  slots.get(total, walk.worker, 0);
  walk.skipFirst();
  State<kDim, kTiles> parts[kAhead];
  int count;
  do {
    count = 0;
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      parts[i].clear();
      if (walk.next()) {
        slots.get(parts[i], walk.worker, walk.slot);
        ++count;
      }
    }
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      if (i < count) total.fold(parts[i]);
    }
  } while (count == kAhead);
}

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

template <int kDim, int kTiles>
__device__ __forceinline__ void loadQuery(uint32_t (&query)[kDim / 16][kTiles][2], const Arguments& a,
                                          const Rows& rows) {
  int lane = threadIdx.x % 32;
  const uint16_t* from = static_cast<const uint16_t*>(a.query.data) + rows.token * a.query.tokenStride +
                         static_cast<int64_t>(rows.firstHead) * kDim + lane % 4 * 2;
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) {
    int row = tile * 8 + lane / 4;
#pragma unroll
    for (int step = 0; step < kDim / 16; ++step) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const uint16_t* at = from + row * kDim + step * 16 + half * 8;
        query[step][tile][half] = row < rows.heads ? *reinterpret_cast<const uint32_t*>(at) : 0u;
      }
    }
  }
}

template <int kDim, int kTiles>
__device__ __forceinline__ void storeOutput(const State<kDim, kTiles>& total, const Arguments& a, const Rows& rows) {
  int lane = threadIdx.x % 32;
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      int row = tile * 8 + lane % 4 * 2 + r;
      if (row >= rows.heads) continue;
      float sum = total.sum[tile][r], scale = sum > 0 ? 1.0f / sum : 0.0f;
      int64_t to = rows.token * a.out.tokenStride + static_cast<int64_t>(rows.firstHead + row) * kDim + lane / 4;
#pragma unroll
      for (int m = 0; m < kDim / 16; ++m) {
        storeFloat(a.out.data, a.out.dtype, to + m * 16, total.values[m][tile][r] * scale);
        storeFloat(a.out.data, a.out.dtype, to + m * 16 + 8, total.values[m][tile][r + 2] * scale);
      }
    }
  }
}

/** Counts the chunks of a worker in; true for the one that completes the item. By a whole warp. */
__device__ __forceinline__ bool arriveLast(const Arguments& a, const Segment& segment) {
  int owned = (segment.end - segment.begin + segment.chunk - 1) / segment.chunk;
  int* arrivals = a.arrivals + static_cast<int64_t>(segment.sequence) * itemsOf(a) + segment.item;
  __threadfence();
  __syncwarp();
  int arrived = 0;
  if (threadIdx.x % 32 == 0) arrived = atomicAdd(arrivals, owned);
  arrived = __shfl_sync(0xffffffffu, arrived, 0) + owned;
  if (arrived < segment.chunks()) return false;
  __threadfence();
  if (threadIdx.x % 32 == 0) *arrivals = 0;
  return true;
}

/** All of the line, and no more workers than give each a chunk: few chunks then lie on different multiprocessors. */
__device__ __forceinline__ Line lineOf(const Arguments& a, int warps) {
  int slices = 0, chunks = 0;
#pragma unroll 4
  for (int sequence = threadIdx.x % 32; sequence < a.batch.sequences; sequence += 32) {
    int count = Keys(a, sequence).slices;
    slices += count;
    if (count > 0) chunks += (count + chunkSlices(count) - 1) / chunkSlices(count);
  }
  int64_t total = static_cast<int64_t>(sumOverWarp(slices)) * itemsOf(a);
  int64_t wanted = (static_cast<int64_t>(sumOverWarp(chunks)) * itemsOf(a) + gridDim.x - 1) / gridDim.x;
  return {total, static_cast<int>(gridDim.x) * static_cast<int>(min(wanted, static_cast<int64_t>(warps)))};
}

template <DType kType, int kDim, int kTiles, int kStages>
__device__ __forceinline__ void attend(const Arguments& a, uint32_t stages, const Line& line, int worker) {
  using Part = State<kDim, kTiles>;
  const Slots<kDim, kTiles> slots(a);
  int64_t lineEnd = line.start(worker + 1);
  Segment segment = firstSegment(a, line.start(worker), lineEnd);
  Feed<kDim, kStages> feed(a, segment, lineEnd, stages);
#pragma unroll
  for (int i = 0; i < kStages - 1; ++i) feed.issue();
  int stage = 0;
  for (; !segment.isEmpty(); advance(a, segment, lineEnd)) {
    uint32_t query[kDim / 16][kTiles][2];
    const Rows rows(a, segment);
    loadQuery<kDim, kTiles>(query, a, rows);
    Part total;
    int slot = 0;
    for (int first = segment.begin; first < segment.end; first += segment.chunk) {
      Part part;
      part.clear();
      int end = min(first + segment.chunk, segment.end);
      for (int slice = first; slice < end; ++slice) {
        ptx::waitCopies<kStages - 2>();
        __syncwarp();  // the slice is here for all lanes, and none still reads the stage that is filled next
        feed.issue();
        uint32_t keys = stages + stage * Ring<kDim>::kStageBytes;
        addSlice<kType, kDim, kTiles>(part, query, keys, keys + Ring<kDim>::kSliceBytes, a.scaleLog2,
                                      visibleIn(segment.keys, segment.keys.firstSlice + slice));
        stage = stage + 1 == kStages ? 0 : stage + 1;
      }
      part.closeSum();
      if (segment.begin > 0) slots.put(part, worker, ++slot);
      else if (first == 0) total = part;
      else total.fold(part);
    }
    bool whole = segment.begin == 0 && segment.end == segment.keys.slices;
    if (!whole) {
      if (segment.begin == 0) slots.put(total, worker, 0);
      if (!arriveLast(a, segment)) continue;
      combine(total, slots, line, segment);
    }
    storeOutput(total, a, rows);
  }
  ptx::waitCopies<0>();
}

#if defined(__CUDA_ARCH__)
constexpr int kArchitecture = __CUDA_ARCH__ >= 900 ? 90 : 80;
#else
constexpr int kArchitecture = 80;
#endif

template <DType kType, int kDim, int kTiles>
__global__ void __launch_bounds__(Ring<kDim>::kWarps * 32, 1) splitKernel(const __grid_constant__ Arguments a) {
  extern __shared__ __align__(16) uint8_t ring[];
  constexpr int kStages = Ring<kDim>::stages(kArchitecture);
  int warp = threadIdx.x / 32;
  const Line line = lineOf(a, Ring<kDim>::kWarps);
  int worker = static_cast<int>(blockIdx.x) + warp * static_cast<int>(gridDim.x);
  if (worker >= line.workers) return;
  uint32_t stages = ptx::sharedAddress(ring) + warp * kStages * Ring<kDim>::kStageBytes;
  attend<kType, kDim, kTiles, kStages>(a, stages, line, worker);
}

}  // namespace octavo::cuda::split
