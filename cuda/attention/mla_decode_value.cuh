// The warps that add values: O += P · V, each for all rows and 64 columns; they fold chunks and write the result.
#pragma once

#include "cuda/attention/mla_combine.cuh"
#include "cuda/attention/mla_decode_place.cuh"

namespace octavo::cuda::mla {

/** Unnormalised output of rows g and g + 8 of lane 4g + t: of 8 columns a vector, columns 2t and 2t + 1. */
struct State {
  Scales scales;
  float values[8][4];

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
  __device__ __forceinline__ float4 vector(int i) const {
    return make_float4(values[i][0], values[i][1], values[i][2], values[i][3]);
  }
  __device__ __forceinline__ void set(int i, float4 v) {
    values[i][0] = v.x;
    values[i][1] = v.y;
    values[i][2] = v.z;
    values[i][3] = v.w;
  }
  /** Folds the state of the keys that follow these into this one. */
  __device__ __forceinline__ void fold(const State& next) {
    float left[2], right[2];
    scales.fold(next.scales, left, right);
#pragma unroll
    for (int i = 0; i < 8; ++i) set(i, foldValues(vector(i), next.vector(i), left, right));
  }
  __device__ __forceinline__ void store(float4* at) const {
    at[0] = scales.head();
#pragma unroll
    for (int i = 0; i < 8; ++i) at[(i + 1) * 32] = vector(i);
  }
  __device__ __forceinline__ void load(const float4* at) {
    scales = Scales(at);
#pragma unroll
    for (int i = 0; i < 8; ++i) set(i, __ldcg(at + (i + 1) * 32));
  }
};

template <DType kType, typename Form>
class Adder {
 public:
  __device__ __forceinline__ Adder(const Arguments& a, const Place& place, const Line& line)
      : a_(a), place_(place), line_(line), warp_(threadIdx.x / 32 - kFirstValueWarp), lane_(threadIdx.x % 32) {}

  __device__ __forceinline__ void run(Segment<Shape> segment, int lineEnd, int worker) {
    for (; !segment.isEmpty(); advance(a_, segment, lineEnd)) {
      State total;
      bool folds = segment.begin == 0, ends = segment.end == segment.sequence.tiles;
      if (!folds && ends) folds = takeBefore(total, segment);
      int slot = firstSlot(a_, worker, 0);
#pragma unroll 1
      for (int first = segment.begin; first < segment.end; first += segment.chunk) {
        State part;
        addChunk(part, segment, first, min(first + segment.chunk, segment.end));
        if (!folds) part.store(sliceAt<Shape>(a_, ++slot, warp_));
        else if (first == 0) total = part;
        else total.fold(part);
      }
      if (!folds) continue;
      if (ends) write(total, segment);
      else total.store(sliceAt<Shape>(a_, slot, warp_));
      publish(a_, segment, warp_, ends ? kIsWritten : kHasBegun);
    }
  }

 private:
  /** Where one worker has all chunks before the segment's and is done with them: their fold. */
  __device__ __forceinline__ bool takeBefore(State& total, const Segment<Shape>& segment) const {
    const Pieces<Shape> pieces(line_, segment);
    if (pieces.chunks * segment.chunk != segment.begin) return false;
    if (!hasBegun(a_, segment, warp_)) return false;
    total.load(sliceAt<Shape>(a_, pieces.slot(a_, 0), warp_));
    return true;
  }

  __device__ __forceinline__ void addChunk(State& part, const Segment<Shape>& segment, int first, int end) {
    part.clear();
#pragma unroll 1
    for (int tile = first; tile < end; ++tile) {
      ptx::waitBarrier(place_.weightsFull(turn_.index), turn_.parity);
      ptx::waitBarrier(place_.full(stage_.index), stage_.parity);
      const TileScales& scales = place_.scales(turn_.index);
      float low = scales.correction[lane_ / 4], high = scales.correction[lane_ / 4 + 8];
      if (tile + 1 == end) {
        part.scales.maximum[0] = scales.maximum[lane_ / 4];
        part.scales.maximum[1] = scales.maximum[lane_ / 4 + 8];
        part.scales.sum[0] = scales.sum[lane_ / 4];
        part.scales.sum[1] = scales.sum[lane_ / 4 + 8];
      }
      uint32_t weights[2][4];
      uint32_t from = place_.weights(turn_.index) + (lane_ & 15) * kWeightPitch + (lane_ >> 4) * 16;
      ptx::loadMatrices(weights[0], from);
      ptx::loadMatrices(weights[1], from + 32);
      release(place_.weightsEmpty(turn_.index));
      if (__any_sync(0xffffffffu, low != 1.0f || high != 1.0f)) part.scale(low, high);
      const uint32_t values = place_.tile(stage_.index);
      int filled = segment.sequence.context - tile * kTileKeys;
      if (filled < kTileKeys) clear(values, filled, warp_ * 8);
      multiply(part, weights, values);
      release(place_.empty(stage_.index));
      turn_.advance();
      stage_.advance();
    }
  }

  __device__ __forceinline__ void release(uint32_t barrier) const {
    __syncwarp();
    if (lane_ == 0) ptx::arrive(barrier);
  }

  __device__ __forceinline__ void multiply(State& part, const uint32_t (&weights)[2][4], uint32_t tile) const {
#pragma unroll
    for (int step = 0; step < 2; ++step) {
      int row = step * 16 + (lane_ & 15);
#pragma unroll
      for (int pair = 0; pair < 4; ++pair) {
        uint32_t v[4];
        ptx::loadMatricesTransposed(v, tile + Form::offset(row, warp_ * 8 + pair * 2 + (lane_ >> 4)));
        ptx::multiplyAdd<kType>(part.values[pair * 2], weights[step], v[0], v[1]);
        ptx::multiplyAdd<kType>(part.values[pair * 2 + 1], weights[step], v[2], v[3]);
      }
    }
  }

  /** Zeros past the last key in 64 columns: a weight of 0 does not make a number of NaN. */
  static __device__ __noinline__ void clear(uint32_t tile, int firstRow, int firstChunk) {
    for (int i = firstRow * 8 + static_cast<int>(threadIdx.x % 32); i < kTileKeys * 8; i += 32) {
      ptx::storeZeros(tile + Form::offset(i / 8, firstChunk + i % 8));
    }
    ptx::fenceForCopies();
    __syncwarp();
  }

  __device__ __forceinline__ void write(const State& total, const Segment<Shape>& segment) const {
    const Row low(a_, segment, lane_ / 4), high(a_, segment, lane_ / 4 + 8);
    float lowScale = inverse(total.scales.sum[0]), highScale = inverse(total.scales.sum[1]);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      writeVector<kType, Shape>(a_, low, high, warp_, i, total.vector(i), lowScale, highScale);
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
