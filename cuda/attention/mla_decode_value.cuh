// The warps that add values: O += P · V, each for all rows and 64 columns; they fold chunks and write the result.
#pragma once

#include "cuda/attention/mla_decode_place.cuh"

namespace octavo::cuda::mla {

/** Unnormalised output of rows g and g + 8 of lane 4g + t: of 8 columns a tile, columns 2t and 2t + 1. */
struct State {
  float maximum[2], sum[2];
  float values[8][4];

  static constexpr int kVectors = 9;  // float4 a lane in a slot

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int i = 0; i < 8; ++i) values[i][0] = values[i][1] = values[i][2] = values[i][3] = 0;
  }
  __device__ __forceinline__ void scale(float low, float high) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      values[i][0] *= low;
      values[i][1] *= low;
      values[i][2] *= high;
      values[i][3] *= high;
    }
  }
  /** Folds the state of the keys that follow these into this one. */
  __device__ __forceinline__ void fold(const State& next) {
    float left[2], right[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float most = fmaxf(maximum[r], next.maximum[r]), base = most == -INFINITY ? 0.0f : most;
      left[r] = exp2f(maximum[r] - base);
      right[r] = exp2f(next.maximum[r] - base);
      maximum[r] = most;
      sum[r] = fmaf(next.sum[r], right[r], sum[r] * left[r]);
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
#pragma unroll
      for (int j = 0; j < 4; ++j) values[i][j] = fmaf(next.values[i][j], right[j / 2], values[i][j] * left[j / 2]);
    }
  }
  __device__ __forceinline__ void store(float4* at) const {
    at[0] = make_float4(maximum[0], maximum[1], sum[0], sum[1]);
#pragma unroll
    for (int i = 0; i < 8; ++i) at[(i + 1) * 32] = make_float4(values[i][0], values[i][1], values[i][2], values[i][3]);
  }
  __device__ __forceinline__ void load(const float4* at) {
    float4 head = __ldcg(at);
    maximum[0] = head.x;
    maximum[1] = head.y;
    sum[0] = head.z;
    sum[1] = head.w;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      float4 v = __ldcg(at + (i + 1) * 32);
      values[i][0] = v.x;
      values[i][1] = v.y;
      values[i][2] = v.z;
      values[i][3] = v.w;
    }
  }
};

template <DType kType>
class Adder {
 public:
  __device__ __forceinline__ Adder(const Arguments& a, const Place& place, const Line& line)
      : a_(a), place_(place), line_(line), warp_(threadIdx.x / 32 - kFirstValueWarp), lane_(threadIdx.x % 32) {}

  __device__ __forceinline__ void run(Segment<Shape> segment, int lineEnd, int worker) {
    for (; !segment.isEmpty(); advance(a_, segment, lineEnd)) {
      State total;
      bool folds = segment.begin == 0;
      if (!folds && segment.end == segment.sequence.tiles && hasArrived(segment)) {
        combine(total, segment, segment.begin / segment.chunk);
        folds = true;
      }
      int slot = worker * a_.slots;
#pragma unroll 1
      for (int first = segment.begin; first < segment.end; first += segment.chunk) {
        State part;
        addChunk(part, segment, first, min(first + segment.chunk, segment.end));
        if (!folds) part.store(at(++slot));
        else if (first == 0) total = part;
        else total.fold(part);
      }
      if (folds && segment.end == segment.sequence.tiles) {
        if (segment.begin > 0 && warp_ == 0 && lane_ == 0) *arrivalsOf(segment) = 0;
        write(total, segment);
        continue;
      }
      if (folds) total.store(at(slot));
      if (!arriveLast(segment)) continue;
      combine(total, segment, segment.chunks());
      write(total, segment);
    }
  }

 private:
  __device__ __forceinline__ float4* at(int slot) const {
    return a_.partials + ((static_cast<int64_t>(slot) * kValueWarps + warp_) * State::kVectors) * 32 + lane_;
  }

  __device__ __forceinline__ void addChunk(State& part, const Segment<Shape>& segment, int first, int end) {
    part.clear();
#pragma unroll 1
    for (int tile = first; tile < end; ++tile) {
      ptx::waitBarrier(place_.weightsFull(turn_.index), turn_.parity);
      ptx::waitBarrier(place_.full(stage_.index), stage_.parity);
      const Scales& scales = place_.scales(turn_.index);
      float low = scales.correction[lane_ / 4], high = scales.correction[lane_ / 4 + 8];
      if (tile + 1 == end) {
        part.maximum[0] = scales.maximum[lane_ / 4];
        part.maximum[1] = scales.maximum[lane_ / 4 + 8];
        part.sum[0] = scales.sum[lane_ / 4];
        part.sum[1] = scales.sum[lane_ / 4 + 8];
      }
      uint32_t weights[2][4];
      uint32_t from = place_.weights(turn_.index) + (lane_ & 15) * kWeightPitch + (lane_ >> 4) * 16;
      ptx::loadMatrices(weights[0], from);
      ptx::loadMatrices(weights[1], from + 32);
      release(place_.weightsEmpty(turn_.index));
      if (__any_sync(0xffffffffu, low != 1.0f || high != 1.0f)) part.scale(low, high);
      uint32_t slab = place_.tile(stage_.index) + warp_ * kSlabBytes;
      int filled = segment.sequence.context - tile * kTileKeys;
      if (filled < kTileKeys) clear(slab, filled);
      multiply(part, weights, slab);
      release(place_.empty(stage_.index));
      turn_.advance();
      stage_.advance();
    }
  }

  __device__ __forceinline__ void release(uint32_t barrier) const {
    __syncwarp();
    if (lane_ == 0) ptx::arrive(barrier);
  }

  __device__ __forceinline__ void multiply(State& part, const uint32_t (&weights)[2][4], uint32_t slab) const {
#pragma unroll
    for (int step = 0; step < 2; ++step) {
      int row = step * 16 + (lane_ & 15);
#pragma unroll
      for (int pair = 0; pair < 4; ++pair) {
        uint32_t v[4];
        ptx::loadMatricesTransposed(v, slab + row * 128 + (((pair * 2 + (lane_ >> 4)) ^ (row & 7)) << 4));
        ptx::multiplyAdd<kType>(part.values[pair * 2], weights[step], v[0], v[1]);
        ptx::multiplyAdd<kType>(part.values[pair * 2 + 1], weights[step], v[2], v[3]);
      }
    }
  }

  /** Zeros past the last key: a weight of 0 does not make a number of NaN. */
  __device__ __noinline__ void clear(uint32_t slab, int firstRow) const {
    for (int i = firstRow * 8 + lane_; i < kTileKeys * 8; i += 32) ptx::storeZeros(slab + i * 16);
    ptx::fenceForCopies();
    __syncwarp();
  }

  __device__ __forceinline__ int* arrivalsOf(const Segment<Shape>& segment) const {
    return a_.arrivals + static_cast<int64_t>(segment.index) * a_.rowTiles + segment.item;
  }
  __device__ __forceinline__ void meet() const {
    asm volatile("bar.sync 2, %0;" ::"n"(kValueWarps * 32) : "memory");
  }

  /** Whether all chunks before the segment's are there. The same answer for all value warps. */
  __device__ __forceinline__ bool hasArrived(const Segment<Shape>& segment) const {
    meet();
    if (warp_ == 0 && lane_ == 0) place_.arrived() = *static_cast<volatile int*>(arrivalsOf(segment));
    meet();
    bool all = place_.arrived() == segment.begin / segment.chunk;
    __threadfence();
    return all;
  }

  /** Counts the chunks of the worker in; true for the one that completes the item. */
  __device__ __forceinline__ bool arriveLast(const Segment<Shape>& segment) const {
    int owned = (segment.end - segment.begin + segment.chunk - 1) / segment.chunk;
    __threadfence();
    meet();
    if (warp_ == 0 && lane_ == 0) {
      int arrived = atomicAdd(arrivalsOf(segment), owned) + owned;
      if (arrived == segment.chunks()) *arrivalsOf(segment) = 0;
      place_.arrived() = arrived;
    }
    meet();
    bool last = place_.arrived() == segment.chunks();
    __threadfence();
    return last;
  }

  /** The first `chunks` chunks of the item, in their order. */
  __device__ __forceinline__ void combine(State& total, const Segment<Shape>& segment, int chunks) const {
    const Pieces<Shape> pieces(line_, segment);
    int count = pieces.count(chunks);
    total.load(at(pieces.slot(0, a_.slots)));
#pragma unroll 2
    for (int i = 1; i < count; ++i) {
      State next;
      next.load(at(pieces.slot(i, a_.slots)));
      total.fold(next);
    }
  }

  __device__ __forceinline__ void write(const State& total, const Segment<Shape>& segment) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const Row row(a_, segment, lane_ / 4 + half * 8);
      if (!row.exists) continue;
      float scale = total.sum[half] > 0 ? 1.0f / total.sum[half] : 0.0f;
      uint16_t* to = static_cast<uint16_t*>(a_.out.data) + row.token * a_.out.tokenStride + row.head * kRank +
                     warp_ * 64 + lane_ % 4 * 2;
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        *reinterpret_cast<uint32_t*>(to + i * 8) =
            packPair<kType>(total.values[i][half * 2] * scale, total.values[i][half * 2 + 1] * scale);
      }
    }
  }

  const Arguments& a_;
  const Place& place_;
  const Line& line_;
  int warp_, lane_;
  Turn<kStages> stage_;
  Turn<kWeights> turn_;
};

}  // namespace octavo::cuda::mla
