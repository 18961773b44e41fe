// The warps that score, S = Q · Kᵀ of 16 rows and a tile, and the warps that make softmax weights of the scores.
#pragma once

#include "cuda/attention/mla_decode_place.cuh"
#include "cuda/ptx/shared_memory.cuh"

namespace octavo::cuda::mla {

constexpr int kSteps = kWidth / 16 / kScoreWarps;  // of 16 columns, that a score warp has

/** Four warps, a quarter of the columns each: partial scores, which meet in shared memory. */
template <DType kType, typename Form>
class Scorer {
 public:
  __device__ __forceinline__ Scorer(const Arguments& a, const Place& place)
      : a_(a), place_(place), warp_(threadIdx.x / 32), lane_(threadIdx.x % 32) {
    row_ = (lane_ & 7) + (lane_ >> 4) * 8;
    chunk_ = (lane_ >> 3) & 1;
  }

  __device__ __forceinline__ void run(Segment<Shape> segment, int lineEnd) {
    for (; !segment.isEmpty(); advance(a_, segment, lineEnd)) {
      loadQuery(segment);
      for (int tile = segment.begin; tile < segment.end; ++tile) {
        multiply();
        stage_.advance();
        partial_.advance();
      }
    }
  }

 private:
  static constexpr int kLoads = 2 * kSteps, kAhead = 4;  // fragments of 16 keys and 16 columns; on their way

  __device__ __forceinline__ void loadQuery(const Segment<Shape>& segment) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const Row row(a_, segment, lane_ / 4 + half * 8);
      const uint16_t* from = static_cast<const uint16_t*>(a_.query.data) + row.token * a_.query.tokenStride +
                             row.head * kWidth + warp_ * kSteps * 16 + lane_ % 4 * 2;
#pragma unroll
      for (int step = 0; step < kSteps; ++step) {
        query_[step][half] = *reinterpret_cast<const uint32_t*>(from + step * 16);
        query_[step][half + 2] = *reinterpret_cast<const uint32_t*>(from + step * 16 + 8);
      }
    }
  }

  /** Keys 16 · (load % 2) and up, columns 16 · (load / 2) of this warp's. */
  __device__ __forceinline__ void loadKeys(uint32_t (&keys)[4], uint32_t tile, int load) const {
    int column = warp_ * kSteps + load / 2;
    ptx::loadMatrices(keys, tile + Form::offset(row_ + load % 2 * 16, column * 2 + chunk_));
  }

  __device__ __forceinline__ void multiply() {
    ptx::waitBarrier(place_.full(stage_.index), stage_.parity);
    uint32_t tile = place_.tile(stage_.index), keys[kAhead + 1][4];
    float scores[4][4] = {};
#pragma unroll
    for (int load = 0; load < kAhead; ++load) loadKeys(keys[load], tile, load);
#pragma unroll
    for (int load = 0; load < kLoads; ++load) {
      if (load + kAhead < kLoads) loadKeys(keys[(load + kAhead) % (kAhead + 1)], tile, load + kAhead);
      const uint32_t(&now)[4] = keys[load % (kAhead + 1)];
      ptx::multiplyAdd<kType>(scores[load % 2 * 2], query_[load / 2], now[0], now[1]);
      ptx::multiplyAdd<kType>(scores[load % 2 * 2 + 1], query_[load / 2], now[2], now[3]);
    }
    ptx::waitBarrier(place_.partialsEmpty(partial_.index), partial_.parity ^ 1);
    uint8_t* to = place_.partial(partial_.index, warp_) + lane_ / 4 * kScorePitch + lane_ % 4 * 8;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      *reinterpret_cast<float2*>(to + i * 32) = make_float2(scores[i][0], scores[i][1]);
      *reinterpret_cast<float2*>(to + 8 * kScorePitch + i * 32) = make_float2(scores[i][2], scores[i][3]);
    }
    __syncwarp();
    if (lane_ == 0) ptx::arrive(place_.partialsFull(partial_.index));
  }

  const Arguments& a_;
  const Place& place_;
  int warp_, lane_, row_, chunk_;
  Turn<kStages> stage_;
  Turn<kPartials> partial_;
  uint32_t query_[kSteps][4];
};

/** Two warps, 8 rows each; eight keys of one row a lane, four and four. */
template <DType kType>
class Weigher {
 public:
  __device__ __forceinline__ Weigher(const Arguments& a, const Place& place)
      : a_(a), place_(place), lane_(threadIdx.x % 32), row_((threadIdx.x / 32 - kScoreWarps) * 8 + lane_ / 4),
        key_(lane_ % 4 * 4) {}

  __device__ __forceinline__ void run(Segment<Shape> segment, int lineEnd) {
    for (; !segment.isEmpty(); advance(a_, segment, lineEnd)) {
      const Row own(a_, segment, row_);
      for (int first = segment.begin; first < segment.end; first += segment.chunk) {
        int end = min(first + segment.chunk, segment.end);
        maximum_ = -INFINITY;
        sum_ = 0;
        for (int tile = first; tile < end; ++tile) {
          weigh(own.keys - tile * kTileKeys, tile + 1 == end);
          partial_.advance();
          weights_.advance();
        }
      }
    }
  }

 private:
  /** Of the row: the lane's four keys from `key_` on, then four from key_ + 16 on. */
  __device__ __forceinline__ void readScores(float (&score)[8]) const {
    ptx::waitBarrier(place_.partialsFull(partial_.index), partial_.parity);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float4 part[kScoreWarps];
#pragma unroll
      for (int i = 0; i < kScoreWarps; ++i) {
        const uint8_t* from = place_.partial(partial_.index, i) + row_ * kScorePitch + (key_ + half * 16) * 4;
        part[i] = *reinterpret_cast<const float4*>(from);
      }
      score[half * 4] = (part[0].x + part[1].x) + (part[2].x + part[3].x);
      score[half * 4 + 1] = (part[0].y + part[1].y) + (part[2].y + part[3].y);
      score[half * 4 + 2] = (part[0].z + part[1].z) + (part[2].z + part[3].z);
      score[half * 4 + 3] = (part[0].w + part[1].w) + (part[2].w + part[3].w);
    }
    __syncwarp();
    if (lane_ == 0) ptx::arrive(place_.partialsEmpty(partial_.index));
  }

  /** `visible`: keys of the tile that the row sees. */
  __device__ __forceinline__ void weigh(int visible, bool ends) {
    float score[8], most = maximum_;
    readScores(score);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      score[i] = key_ + i / 4 * 16 + i % 4 < visible ? score[i] * a_.scaleLog2 : -INFINITY;
      most = fmaxf(most, score[i]);
    }
    most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 1));
    most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 2));
    float base = most == -INFINITY ? 0.0f : most;  // nothing seen yet: every weight is 0
    float correction = exp2f(maximum_ - base);
    maximum_ = most;
#pragma unroll
    for (int i = 0; i < 8; ++i) score[i] = exp2f(score[i] - base);
    float sum = ((score[0] + score[1]) + (score[2] + score[3])) + ((score[4] + score[5]) + (score[6] + score[7]));
    sum_ = sum = fmaf(sum_, correction, sum);
    if (ends) {
      sum += __shfl_xor_sync(0xffffffffu, sum, 1);
      sum += __shfl_xor_sync(0xffffffffu, sum, 2);
    }
    ptx::waitBarrier(place_.weightsEmpty(weights_.index), weights_.parity ^ 1);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      uint32_t to = place_.weights(weights_.index) + row_ * kWeightPitch + (key_ + half * 16) * 2;
      uint32_t low = packPair<kType>(score[half * 4], score[half * 4 + 1]);
      uint32_t high = packPair<kType>(score[half * 4 + 2], score[half * 4 + 3]);
      ptx::storeTwoWords(to, low, high);
    }
    if (lane_ % 4 == 0) {
      TileScales& scales = place_.scales(weights_.index);
      scales.correction[row_] = correction;
      if (ends) {
        scales.maximum[row_] = most;
        scales.sum[row_] = sum;
      }
    }
    __syncwarp();
    if (lane_ == 0) ptx::arrive(place_.weightsFull(weights_.index));
  }

  const Arguments& a_;
  const Place& place_;
  int lane_, row_, key_;
  Turn<kPartials> partial_;
  Turn<kWeights> weights_;
  float maximum_ = -INFINITY, sum_ = 0;  // of the lane's row; the sum of its own keys
};

}  // namespace octavo::cuda::mla
