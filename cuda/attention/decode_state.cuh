// The running softmax of the decode kernel and its merges: over the key slots of a warp by shuffles, over
// splits and warps through shared memory. Every merge happens in a fixed order (see decode.cuh).
#pragma once

#include "cuda/device/floats.cuh"

namespace octavo::cuda::decode {

constexpr int kWarps = 4;

/** The running softmax of kHeads heads over some keys; a lane holds 8 elements of the accumulator. */
template <int kHeads>
struct State {
  float maximum[kHeads], sum[kHeads], values[kHeads][kChunk];

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int h = 0; h < kHeads; ++h) {
      maximum[h] = -INFINITY;
      sum[h] = 0;
#pragma unroll
      for (int i = 0; i < kChunk; ++i) values[h][i] = 0;
    }
  }
};

/** Weights that bring two running softmaxes to their common maximum. −inf marks an empty one. */
struct MergeWeights {
  float maximum, left, right;
  __device__ __forceinline__ MergeWeights(float leftMaximum, float rightMaximum) {
    maximum = fmaxf(leftMaximum, rightMaximum);
    left = leftMaximum == -INFINITY ? 0.0f : exp2f(leftMaximum - maximum);
    right = rightMaximum == -INFINITY ? 0.0f : exp2f(rightMaximum - maximum);
  }
};

/** What a block leaves for the merge: the state of each of its warps. */
template <int kHeads>
struct Parts {
  float* values;   // [warp][head][dim]
  float* maximum;  // [warp][head]
  float* sum;      // [warp][head]
  int dim;

  __device__ Parts(float* shared, int headDim) : dim(headDim) {
    maximum = shared;
    sum = maximum + kWarps * kHeads;
    values = sum + kWarps * kHeads;
  }
  static size_t bytes(int headDim) { return sizeof(float) * kWarps * kHeads * (2 + static_cast<size_t>(headDim)); }
};

/** Merges the key slots of a warp: afterwards every slot holds the whole. */
template <int kHeads, int kLanes>
__device__ __forceinline__ void mergeSlots(State<kHeads>& state) {
#pragma unroll
  for (int offset = kLanes; offset < 32; offset <<= 1) {
#pragma unroll
    for (int h = 0; h < kHeads; ++h) {
      MergeWeights weights(state.maximum[h], __shfl_xor_sync(0xffffffffu, state.maximum[h], offset));
      state.maximum[h] = weights.maximum;
      state.sum[h] = state.sum[h] * weights.left + __shfl_xor_sync(0xffffffffu, state.sum[h], offset) * weights.right;
#pragma unroll
      for (int i = 0; i < kChunk; ++i) {
        float other = __shfl_xor_sync(0xffffffffu, state.values[h][i], offset);
        state.values[h][i] = state.values[h][i] * weights.left + other * weights.right;
      }
    }
  }
}

/** Puts a warp's state into its place in shared memory, merged with what the last split left there. */
template <int kHeads, int kLanes>
__device__ __forceinline__ void leavePart(const Parts<kHeads>& parts, const State<kHeads>& state, bool first) {
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32, column = lane % kLanes * kChunk;
  if (lane < kLanes) {
#pragma unroll
    for (int h = 0; h < kHeads; ++h) {
      int index = warp * kHeads + h;
      MergeWeights weights(first ? -INFINITY : parts.maximum[index], state.maximum[h]);
#pragma unroll
      for (int i = 0; i < kChunk; ++i) {
        if (column + i >= parts.dim) break;
        float* value = &parts.values[index * parts.dim + column + i];
        float added = __fmul_rn(state.values[h][i], weights.right);
        *value = first ? state.values[h][i] : __fmaf_rn(*value, weights.left, added);
      }
    }
  }
  __syncwarp();
  if (lane < kHeads) {
    int index = warp * kHeads + lane;
    float maximum = 0, sum = 0;
#pragma unroll
    for (int h = 0; h < kHeads; ++h) {
      if (h == lane) { maximum = state.maximum[h]; sum = state.sum[h]; }
    }
    MergeWeights weights(first ? -INFINITY : parts.maximum[index], maximum);
    parts.sum[index] = first ? sum : __fmaf_rn(parts.sum[index], weights.left, __fmul_rn(sum, weights.right));
    parts.maximum[index] = weights.maximum;
  }
  __syncwarp();
}

/** The running merge of one output element. */
struct Merged {
  float maximum = -INFINITY, sum = 0, value = 0;
  bool first = true;
  __device__ __forceinline__ void add(float otherMaximum, float otherSum, float otherValue) {
    MergeWeights weights(first ? -INFINITY : maximum, otherMaximum);
    sum = first ? otherSum : __fmaf_rn(sum, weights.left, __fmul_rn(otherSum, weights.right));
    value = first ? otherValue : __fmaf_rn(value, weights.left, __fmul_rn(otherValue, weights.right));
    maximum = weights.maximum;
    first = false;
  }
};

}  // namespace octavo::cuda::decode
