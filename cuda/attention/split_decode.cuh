// Decode attention at the speed of memory: keys are dealt evenly to warps, whatever the lengths of the sequences.
//
// A worker is a warp with its own ring of copies; no two warps ever wait for each other. It owns whole chunks of
// items (split_schedule.cuh). Per slice of 16 keys it makes Sᵀ = K · Qᵀ and Oᵀ += Vᵀ · Pᵀ with the query rows of a KV
// head's group as the 8 columns of mma.m16n8k16, so that grouped heads cost nothing and single heads little. Items
// that several workers share are folded by the one that arrives last, in the order of their chunks: no second launch,
// no float atomics, the same bits alone and in any batch.
//
// On Hopper one lane brings keys and values of a slice by one tensor copy (UTMALDG), and slices are added in pairs,
// so that neither waits for its own products; elsewhere, and for dims that are no multiple of 64, all lanes copy.
//
// Measured on an H200, bf16, 32 query and 8 KV heads of 128, blocks of 16 and 32, shuffled, 2026-11-30, median of
// replayed graphs, KV bytes counted once (before: cp.async slice by slice, pieces folded one after the other):
// 64 × 4096 282 µs, 3.81 TB/s (3.64); 256 ragged of 256 … 8192 4.10 (4.03); 16 × 4096 3.09 (2.85); 64 × 1024 2.90
// (2.71); one of 1k 12.4 µs (19.0), of 8k 24.6 (37.4), of 32k 57 (80), of 128k 157 (183); one of 128k with 63 of 1k
// against the same bytes even 1.12 (1.34); dim 64 3.50 (3.42), dim 256 3.80 (3.53), 32 KV heads 3.66 (3.46).
// Steady reading is at the limit (4.33 TB/s); what is lost are the first 7 µs, the last pieces, and the tail: some
// multiprocessors read 15 % faster than most and are done at 210 of 280 µs. Taking the last eighth of the line from a
// queue evens that out, but costs as much in pieces: measured, not kept. 254 registers at dim 128; 192 and 256, and more
// than 8 heads of a group at 128, spill 44 to 428 bytes.
#pragma once

#include "cuda/attention/split_feed.cuh"
#include "cuda/attention/split_slots.cuh"

namespace octavo::cuda::split {

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

template <DType kType, int kDim, int kTiles>
__device__ __forceinline__ void storeOutput(const State<kDim, kTiles>& total, const Arguments& a, const Rows& rows) {
  int lane = threadIdx.x % 32;
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) {
    float scale0 = inverse(total.sum[tile][0]), scale1 = inverse(total.sum[tile][1]);
#pragma unroll
    for (int m = 0; m < kDim / 16; ++m) {
      const float(&v)[4] = total.values[m][tile];
      storeRows<kType, kDim>(a, rows, tile * 8 + lane % 4 * 2, m * 16 + lane / 4, make_float4(v[0], v[1], v[2], v[3]),
                             scale0, scale1);
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
    int count = Keys(a, sequence).slices, chunk = chunkSlices(count);
    slices += count;
    chunks += (count + chunk - 1) / chunk;
  }
  int blocks = static_cast<int>(gridDim.x);
  int wanted = (sumOverWarp(chunks) * itemsOf(a) + blocks - 1) / blocks;
  return {sumOverWarp(slices) * itemsOf(a), blocks * min(wanted, warps)};
}

/** Slices that are added at once: two where ring and registers suffice, for then neither waits for its own products. */
template <int kTiles, int kStages>
constexpr int kStep = kTiles == 1 && kStages >= 5 ? 2 : 1;

/** Takes slices from the ring, in the order in which the feed fills it. */
template <DType kType, int kDim, int kTiles, typename Source>
struct Reader {
  using Part = State<kDim, kTiles>;
  using Query = uint32_t[kDim / 16][kTiles][2];
  using Shape = typename Source::Shape;
  const Source& source;
  Feed<Source>& feed;
  float scaleLog2;
  int stage = 0, used = 0, empty = Shape::kStages;
  uint32_t parity = 0;

  /** Fills the stages that all lanes have left. */
  __device__ __forceinline__ void refill() {
    __syncwarp();
#pragma unroll 1
    for (; empty > 0; --empty) feed.issue();
  }

  template <int kSlices>
  __device__ __forceinline__ void add(Part& part, const Query& query, const Keys& keys, int slice) {
    Visible visible[kSlices];
    uint32_t from[kSlices];
#pragma unroll
    for (int i = 0; i < kSlices; ++i) visible[i] = visibleIn(keys, slice + i);
    source.await(stage, parity, visible);
#pragma unroll
    for (int i = 0; i < kSlices; ++i) {
      from[i] = source.ring + stage * Shape::kStageBytes;
      if (++stage == Shape::kStages) {
        stage = 0;
        parity ^= 1;
      }
    }
    addSlices<kType, kDim, kTiles, kSlices, typename Shape::Rows>(part, query, from, scaleLog2, visible);
    used += kSlices;
    empty += kSlices;
  }

  __device__ __forceinline__ void addChunk(Part& part, const Query& query, const Segment& segment, int first, int end) {
    part.clear();
    int slice = segment.keys.firstSlice + first, last = segment.keys.firstSlice + end;
#pragma unroll 1
    while (slice < last) {
      refill();
      if (kStep<kTiles, Shape::kStages> == 2 && slice + 2 <= last) {
        add<2>(part, query, segment.keys, slice);
        slice += 2;
      } else {
        add<1>(part, query, segment.keys, slice);
        slice += 1;
      }
    }
    part.closeSum();
  }
};

template <DType kType, int kDim, int kTiles, typename Source>
__device__ __forceinline__ void attend(const Arguments& a, const CUtensorMap* map, uint8_t* mine, const Line& line,
                                       int worker) {
  using Shape = typename Source::Shape;
  constexpr int kRingBytes = Shape::kStages * Shape::kStageBytes;
  const Source source(a, map, ptx::sharedAddress(mine));
  const Slots<kDim, kTiles> slots(a, line);
  int lineEnd = line.start(worker + 1);
  Segment segment = firstSegment(a, line.start(worker), lineEnd);
  Feed<Source> feed(a, source, segment, lineEnd);
  Reader<kType, kDim, kTiles, Source> reader{source, feed, a.scaleLog2};
  reader.refill();
  for (; !segment.isEmpty(); advance(a, segment, lineEnd)) {
    uint32_t query[kDim / 16][kTiles][2];
    const Rows rows(a, segment);
    loadQuery<kDim, kTiles>(query, a, rows);
    State<kDim, kTiles> total;
    int slot = slots.first(worker);
#pragma unroll 1
    for (int first = segment.begin; first < segment.end; first += segment.chunk) {
      State<kDim, kTiles> part;
      reader.addChunk(part, query, segment, first, min(first + segment.chunk, segment.end));
      if (segment.begin > 0) slots.put(part, ++slot);
      else if (first == 0) total = part;
      else total.fold(part);
    }
    if (segment.begin == 0 && segment.end == segment.keys.slices) {
      storeOutput<kType, kDim, kTiles>(total, a, rows);
      continue;
    }
    if (segment.begin == 0) slots.put(total, slot);
    if (!arriveLast(a, segment)) continue;
    bool idle = feed.isDrained(reader.used);  // then the ring is free, too
    Landing landing{reinterpret_cast<float4*>(idle ? mine : mine + kRingBytes),
                    idle ? kRingBytes + Shape::kLandingBytes : Shape::kLandingBytes};
    combine<kType, kDim, kTiles>(slots, segment, landing);
  }
  source.close();
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
constexpr bool kHasTensorCopies = true;
#else
constexpr bool kHasTensorCopies = false;
#endif

template <DType kType, int kDim, int kTiles, typename Source>
__global__ void __launch_bounds__(Source::Shape::kWarps * 32, 1)
    splitKernel(const __grid_constant__ Arguments a, const __grid_constant__ CUtensorMap map) {
  if constexpr (!Source::kTensor || kHasTensorCopies) {  // else never launched
    extern __shared__ uint8_t shared[];
    using Shape = typename Source::Shape;
    int warp = threadIdx.x / 32;
    const Line line = lineOf(a, Shape::kWarps);
    int worker = static_cast<int>(blockIdx.x) + warp * static_cast<int>(gridDim.x);
    if (worker >= min(line.workers, line.total)) return;  // the first slices go to the first workers, one each
    uint8_t* aligned = shared + (1024 - ptx::sharedAddress(shared) % 1024) % 1024;
    attend<kType, kDim, kTiles, Source>(a, &map, aligned + warp * Shape::kWarpBytes, line, worker);
  }
}

}  // namespace octavo::cuda::split
