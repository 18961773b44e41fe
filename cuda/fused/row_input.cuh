// Rows of x on their way into shared memory, normed where they are to be, in the order in which lanes multiply them.
//
// mma.m16n8k16 wants of row g and lane t the columns 2t, 2t + 1, 2t + 8 and 2t + 9 of each 16. So a chunk of eight
// columns is four words, for four lanes, and the words of four chunks lie side by side: a lane reads two steps at once.
#pragma once

#include "cuda/device/floats.cuh"
#include "cuda/device/reduce.cuh"
#include "cuda/fused/row_layout.cuh"
#include "cuda/ptx/cluster.cuh"
#include "cuda/ptx/named_barriers.cuh"

namespace octavo::cuda::rows {

constexpr int kWorkersMeet = 1;  // the named barrier of the warps that multiply
constexpr int kBatch = 2;        // chunks of a thread whose loads are in flight together

__device__ __forceinline__ void meetWorkers() { ptx::meet(kWorkersMeet, kWorkers); }

/** Where word t of a chunk of 16 bytes lies, in words. */
__device__ __forceinline__ int wordPlace(int chunk, int row, int rows, int t) {
  return (chunk / 4 * rows + row) * 16 + t * 4 + chunk % 4;
}

/** From the L2: a block reads x once, and a line of the L1 may be older than the kernel ahead. */
__device__ __forceinline__ uint4 loadOnce(const uint16_t* from) { return __ldcg(reinterpret_cast<const uint4*>(from)); }

struct Chunks {
  uint4 bits[kBatch];
};

/** A thread takes chunks threadIdx.x + 512 · i of every row, whatever the number of rows: a row's sums are its own. */
template <DType kType>
class InputRows {
 public:
  __device__ __forceinline__ InputRows(const Arguments& a, uint8_t* shared)
      : a_(a), words_(reinterpret_cast<uint32_t*>(shared + a.layout.input)),
        sums_(reinterpret_cast<float*>(shared + a.layout.sums)), rows_(static_cast<int>(a.x.rows)),
        chunks_(static_cast<int>(a.x.columns) / kChunk), batches_((chunks_ + kBatch * kWorkers - 1) / (kBatch * kWorkers)) {}

  /** Weights do not depend on the kernels ahead: they are asked for before those have ended. */
  __device__ __forceinline__ void bring() {
    Chunks weights;
    const bool isNormed = a_.norm.data != nullptr;
    if (isNormed) load(weights, a_.norm.data, 0, 0);
    clearTail();
    ptx::waitForPredecessors();
    copyRows(isNormed);
    if (!isNormed) return;
    meetWorkers();
    for (int row = 0; row < rows_; ++row) {
      const float factor = factorOf(row);
      for (int batch = 0; batch < batches_; ++batch) {
        if (batches_ > 1 && row + batch > 0) load(weights, a_.norm.data, 0, batch);
        normBatch(row, batch, factor, weights);
      }
    }
  }

 private:
  __device__ __forceinline__ int chunkOf(int batch, int i) const {
    return (batch * kBatch + i) * kWorkers + static_cast<int>(threadIdx.x);
  }

  __device__ __forceinline__ void load(Chunks& to, const void* data, int64_t start, int batch) const {
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      const int chunk = chunkOf(batch, i);
      to.bits[i] = make_uint4(0, 0, 0, 0);
      if (chunk < chunks_) {
        to.bits[i] = loadOnce(static_cast<const uint16_t*>(data) + start + chunk * kChunk);
      }
    }
  }

  /** What the last slot has beyond the columns of a row is multiplied with zeros. */
  __device__ __forceinline__ void clearTail() {
    const int end = a_.steps * rows_ * (kStepBytes / 4);
    for (int i = chunks_ / 4 * rows_ * 16 + static_cast<int>(threadIdx.x); i < end; i += kWorkers) words_[i] = 0;
  }

  __device__ __forceinline__ void copyRows(bool isNormed) {
    const int total = rows_ * batches_;
    Chunks now, next;
    load(now, a_.x.data, 0, 0);
    float squares = 0;
    for (int at = 0, row = 0, batch = 0; at < total; ++at) {
      const bool ends = batch + 1 == batches_;
      const int nextRow = ends ? row + 1 : row, nextBatch = ends ? 0 : batch + 1;
      if (at + 1 < total) load(next, a_.x.data, nextRow * a_.x.stride, nextBatch);
      store(row, batch, now);
      if (isNormed) squares = addSquares(squares, now);
      if (isNormed && ends) {
        squares = warpSum(squares);
        if (threadIdx.x % 32 == 0) sums_[row * kWarps + threadIdx.x / 32] = squares;
        squares = 0;
      }
      now = next;
      row = nextRow;
      batch = nextBatch;
    }
  }

  __device__ __forceinline__ static float addSquares(float squares, const Chunks& chunks) {
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      float values[kChunk];
      unpackChunk(values, chunks.bits[i], kType == DType::kBF16);
#pragma unroll
      for (int j = 0; j < kChunk; ++j) squares += values[j] * values[j];
    }
    return squares;
  }

  __device__ __forceinline__ void store(int row, int batch, const Chunks& from) {
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      const int chunk = chunkOf(batch, i);
      if (chunk < chunks_) storeWords(row, chunk, from.bits[i]);
    }
  }

  __device__ __forceinline__ void storeWords(int row, int chunk, const uint4& bits) {
    words_[wordPlace(chunk, row, rows_, 0)] = bits.x;
    words_[wordPlace(chunk, row, rows_, 1)] = bits.y;
    words_[wordPlace(chunk, row, rows_, 2)] = bits.z;
    words_[wordPlace(chunk, row, rows_, 3)] = bits.w;
  }

  __device__ __forceinline__ float factorOf(int row) const {
    float squares = 0;
#pragma unroll
    for (int warp = 0; warp < kWarps; ++warp) squares += sums_[row * kWarps + warp];
    return 1.0f / sqrtf(squares / static_cast<float>(a_.x.columns) + a_.epsilon);
  }

  /** A thread norms what it has stored itself. */
  __device__ __forceinline__ void normBatch(int row, int batch, float factor, const Chunks& weights) {
    const bool isBf16 = kType == DType::kBF16;
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      const int chunk = chunkOf(batch, i);
      if (chunk >= chunks_) continue;
      float values[kChunk], scales[kChunk];
      unpackChunk(values, make_uint4(words_[wordPlace(chunk, row, rows_, 0)], words_[wordPlace(chunk, row, rows_, 1)],
                                     words_[wordPlace(chunk, row, rows_, 2)], words_[wordPlace(chunk, row, rows_, 3)]),
                  isBf16);
      unpackChunk(scales, weights.bits[i], a_.norm.dtype == DType::kBF16);
#pragma unroll
      for (int j = 0; j < kChunk; ++j) values[j] = values[j] * factor * scales[j];
      uint32_t words[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        words[j] = isBf16 ? packBf16(values[2 * j], values[2 * j + 1]) : packF16(values[2 * j], values[2 * j + 1]);
      }
      storeWords(row, chunk, make_uint4(words[0], words[1], words[2], words[3]));
    }
  }

  const Arguments& a_;
  uint32_t* words_;
  float* sums_;
  int rows_, chunks_, batches_;
};

}  // namespace octavo::cuda::rows
