// Attention of prompts over expanded latents on Hopper: keys of 192, values of 128, a head's own (sm_90a).
//
// As wide_prefill.cu: a block takes 128 query tokens of a head, a warpgroup 64 of them; one thread brings tiles of 128
// keys and values, two of each ahead. The 128 own and the 64 shared columns of a key come from where they were made, so
// that nothing is copied together before. A warpgroup multiplies the next tile's scores while the tensor cores still
// add this tile's values. Items of a few heads alternate, so that their keys are read from memory once.
//
// Measured on an H200, bf16, causal half counted, 2026-11-30, median of replayed graphs: 8192 tokens of 128 heads 580
// TFLOP/s, of 16 heads 543; the last 2048 of 34816 of 16 heads 490; four prompts of 1024 of 16 heads 73 µs. 168
// registers at launch, no spills.
#include <algorithm>

#include "cuda/attention/mla_prefill_work.cuh"
#include "cuda/device/alignment.h"
#include "cuda/device/cuda_check.h"
#include "cuda/device/floats.cuh"
#include "cuda/device/shared_memory.h"
#include "cuda/device/tensor_map.h"
#include "cuda/ptx/named_barriers.cuh"
#include "cuda/ptx/numbers.cuh"
#include "cuda/ptx/warp_mma.cuh"
#include "cuda/ptx/wgmma_registers.cuh"

namespace octavo::cuda {
namespace expanded {

constexpr float kLog2E = 1.4426950408889634f;
constexpr int64_t kCachedBytes = 20 << 20;  // of keys and values that the L2 keeps beside everything else

/** The running softmax of a lane's two rows, 8 apart. */
struct Softmax {
  float maximum[2] = {-INFINITY, -INFINITY}, sum[2] = {0, 0};
};

/** −inf where a row does not see a key. `ahead`: of the lane's first row's position over the tile's first key. */
__device__ __forceinline__ void maskScores(float (&scores)[kKeys / 2], int ahead) {
  int column = threadIdx.x % 4 * 2;
#pragma unroll
  for (int i = 0; i < kKeys / 2; ++i) {
    if (column + (i >> 2) * 8 + (i & 1) > ahead + (i >> 1 & 1) * 8) scores[i] = -INFINITY;
  }
}

/** Scores to weights in place; the factors by which what was summed before must be scaled. */
__device__ __forceinline__ void weigh(Softmax& softmax, float (&scores)[kKeys / 2], float scaleLog2,
                                      float (&corrections)[2]) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float most = softmax.maximum[r];
#pragma unroll
    for (int i = 0; i < kKeys / 2; i += 4) most = fmaxf(most, fmaxf(scores[i + 2 * r], scores[i + 2 * r + 1]));
    most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 1));
    most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 2));
    float base = most == -INFINITY ? 0.0f : most * scaleLog2;  // nothing seen yet: every weight below is 0
    corrections[r] = ptx::exp2Approximate(softmax.maximum[r] * scaleLog2 - base);
    softmax.maximum[r] = most;
    float sum = 0;
#pragma unroll
    for (int i = 0; i < kKeys / 2; i += 4) {
#pragma unroll
      for (int j = 2 * r; j < 2 * r + 2; ++j) {
        scores[i + j] = ptx::exp2Approximate(fmaf(scores[i + j], scaleLog2, -base));
        sum += scores[i + j];
      }
    }
    softmax.sum[r] = softmax.sum[r] * corrections[r] + sum;
  }
}

template <DType kType>
__device__ __forceinline__ void packWeights(uint32_t (&weights)[kKeys / 4], const float (&scores)[kKeys / 2]) {
#pragma unroll
  for (int i = 0; i < kKeys / 4; ++i) {
    float low = scores[2 * i], high = scores[2 * i + 1];
    weights[i] = kType == DType::kBF16 ? packBf16(low, high) : packF16(low, high);
  }
}

/** scores = Q · Kᵀ of a warpgroup, left under way. */
template <DType kType>
__device__ __forceinline__ void startScores(float (&scores)[kKeys / 2], uint32_t query, uint32_t keys) {
  ptx::fenceProducts();
#pragma unroll
  for (int step = 0; step < kKeyDim / 16; ++step) {
    int slab = step / 4, within = step % 4;
    uint64_t left = ptx::tileDescriptor(query + slab * Shared::kQuerySlab) + 2 * within;
    uint64_t right = ptx::tileDescriptor(keys + slab * Shared::kKeySlab) + 2 * within;
    ptx::multiplyTiles<kType>(scores, left, right, step != 0);
  }
  ptx::commitProducts();
}

/** out (+)= weights · V of a warpgroup, left under way. */
template <DType kType>
__device__ __forceinline__ void startValues(float (&out)[kValueDim / 2], const uint32_t (&weights)[kKeys / 4],
                                            uint32_t values, bool accumulates) {
  ptx::fenceProducts();
#pragma unroll
  for (int step = 0; step < kKeys / 16; ++step) {
    uint64_t right = ptx::transposedDescriptor(values + step * 16 * kRowBytes, Shared::kKeySlab);
    ptx::multiplyRegisters<kType>(out, weights + 4 * step, right, accumulates || step != 0);
  }
  ptx::commitProducts();
}

/** Rows past a sequence's last key are another's, or anything; 0 · NaN would spoil a row. By both warpgroups. */
__device__ __forceinline__ void clearValues(uint32_t values, int firstRow) {
  int thread = static_cast<int>(threadIdx.x) - 128;
  int chunks = (kKeys - firstRow) * (kRowBytes / 16);
#pragma unroll
  for (int slab = 0; slab < kValueSlabs; ++slab) {
    uint32_t from = values + slab * Shared::kKeySlab + firstRow * kRowBytes;
    for (int i = thread; i < chunks; i += 128 * kGroups) ptx::storeZeros(from + i * 16);
  }
  ptx::fenceForCopies();
  ptx::meet(1, 128 * kGroups);
}

template <DType kType>
__device__ __forceinline__ void storeRows(const float (&out)[kValueDim / 2], Softmax& softmax, const Arguments& a,
                                          const Work& work, int row) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    softmax.sum[r] += __shfl_xor_sync(0xffffffffu, softmax.sum[r], 1);
    softmax.sum[r] += __shfl_xor_sync(0xffffffffu, softmax.sum[r], 2);
    float scale = softmax.sum[r] > 0 ? 1.0f / softmax.sum[r] : 0.0f;
    if (row + 8 * r >= work.rows) continue;
    int64_t to = static_cast<int64_t>(work.first + row + 8 * r) * a.out.tokenStride +
                 static_cast<int64_t>(work.head) * kValueDim + threadIdx.x % 4 * 2;
#pragma unroll
    for (int i = 0; i < kValueDim / 8; ++i) {
      float low = out[i * 4 + 2 * r] * scale, high = out[i * 4 + 2 * r + 1] * scale;
      uint32_t pair = kType == DType::kBF16 ? packBf16(low, high) : packF16(low, high);
      *reinterpret_cast<uint32_t*>(static_cast<uint16_t*>(a.out.data) + to + i * 8) = pair;
    }
  }
}

/** A warpgroup's share of every item. */
template <DType kType>
class Consumer {
 public:
  __device__ __forceinline__ Consumer(const Arguments& a, const Shared& shared)
      : a_(a), shared_(shared), group_(static_cast<int>(threadIdx.x) / 128 - 1),
        row_(group_ * kGroupQueries + threadIdx.x / 32 % 4 * 16 + threadIdx.x % 32 / 4),
        query_(shared.query + group_ * kKeySlabs * Shared::kQuerySlab) {}

  __device__ __forceinline__ void run() {
    uint32_t queryParity = 0;
    Work work;
    for (int item = blockIdx.x; item < a_.numbers * a_.heads; item += gridDim.x) {
      if (!findWork(a_, item, work)) continue;
      ptx::waitBarrier(shared_.queryFull, queryParity);
      queryParity ^= 1;
      attend(work);
    }
  }

 private:
  __device__ __forceinline__ void attend(const Work& work) {
    Softmax softmax;
    float out[kValueDim / 2], scores[kKeys / 2], corrections[2];
    uint32_t weights[kKeys / 4];
    awaitKeys();
    startScores<kType>(scores, query_, keysAt());
    ptx::waitProducts<0>();
    ptx::pinRegisters(scores);
    releaseKeys();
    mask(scores, work, 0);
    weigh(softmax, scores, a_.scaleLog2, corrections);
    packWeights<kType>(weights, scores);
    for (int tile = 1; tile < work.tiles; ++tile) {
      awaitKeys();
      startScores<kType>(scores, query_, keysAt());
      ptx::waitBarrier(shared_.valuesFull + values_.index * 8, values_.parity);
      startValues<kType>(out, weights, valuesAt(), tile > 1);
      ptx::waitProducts<1>();
      ptx::pinRegisters(scores);
      releaseKeys();
      mask(scores, work, tile);
      weigh(softmax, scores, a_.scaleLog2, corrections);
      ptx::waitProducts<0>();
      ptx::pinRegisters(out);
      releaseValues();
      if (__any_sync(0xffffffffu, corrections[0] != 1.0f || corrections[1] != 1.0f)) {
#pragma unroll
        for (int i = 0; i < kValueDim / 2; ++i) out[i] *= corrections[i >> 1 & 1];
      }
      packWeights<kType>(weights, scores);
    }
    release(shared_.queryEmpty);
    ptx::waitBarrier(shared_.valuesFull + values_.index * 8, values_.parity);
    int filled = work.endKey() - (work.tiles - 1) * kKeys;
    if (filled < kKeys) clearValues(valuesAt(), filled);
    startValues<kType>(out, weights, valuesAt(), work.tiles > 1);
    ptx::waitProducts<0>();
    ptx::pinRegisters(out);
    releaseValues();
    storeRows<kType>(out, softmax, a_, work, row_);
  }

  __device__ __forceinline__ void mask(float (&scores)[kKeys / 2], const Work& work, int tile) const {
    int firstKey = tile * kKeys;
    if (firstKey + kKeys - 1 > work.position + group_ * kGroupQueries) {
      maskScores(scores, work.position + row_ - firstKey);
    }
  }
  __device__ __forceinline__ uint32_t keysAt() const { return shared_.keys + keys_.index * Shared::kKeyBytes; }
  __device__ __forceinline__ uint32_t valuesAt() const { return shared_.values + values_.index * Shared::kValueBytes; }
  __device__ __forceinline__ void awaitKeys() const {
    ptx::waitBarrier(shared_.keysFull + keys_.index * 8, keys_.parity);
  }
  __device__ __forceinline__ void release(uint32_t empty) const {
    if (threadIdx.x % 32 == 0) ptx::arrive(empty);
  }
  __device__ __forceinline__ void releaseKeys() {
    release(shared_.keysEmpty + keys_.index * 8);
    keys_.advance();
  }
  __device__ __forceinline__ void releaseValues() {
    release(shared_.valuesEmpty + values_.index * 8);
    values_.advance();
  }

  const Arguments& a_;
  const Shared& shared_;
  int group_, row_;
  uint32_t query_;
  Slot keys_, values_;
};

template <DType kType>
__global__ void __launch_bounds__(kThreads, 1) expandedPrefillKernel(const __grid_constant__ Arguments a) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ uint8_t bytes[];
  const Shared shared(ptx::sharedAddress(bytes));
  if (threadIdx.x == 0) shared.initialise();
  __syncthreads();
  if (threadIdx.x < 128) {
    ptx::lowerRegisters<40>();
    if (threadIdx.x == 0) produce(a, shared);
  } else {
    ptx::raiseRegisters<232>();
    Consumer<kType>(a, shared).run();
  }
#endif
}

template <DType kType>
void launch(const ExpandedAttention& attention, const DeviceTraits& traits, cudaStream_t stream) {
  constexpr auto kKernel = expandedPrefillKernel<kType>;
  allowSharedMemory<expandedPrefillKernel<kType>>(Shared::kBytes);
  const Heads& query = attention.query;
  const Heads& both = attention.keys.keyValue;
  const int64_t headBytes = int64_t{attention.batch.maxContextLength} * kHeadDim * 2;
  const Arguments a{
      tensorMapOf({query.data, query.dtype, query.tokens, int64_t{query.heads} * kKeyDim, query.tokenStride},
                  kGroupQueries),
      tensorMapOf({both.data, both.dtype, both.tokens, int64_t{both.heads} * kHeadDim, both.tokenStride}, kKeys),
      tensorMapOf(attention.keys.ropeKey, kKeys),
      attention.out,
      attention.batch,
      attention.keys.keyStart,
      attention.scale * kLog2E,
      query.heads,
      static_cast<int32_t>(std::clamp<int64_t>(kCachedBytes / headBytes, 1, query.heads)),
      attention.batch.tokens / kQueries + attention.batch.sequences};
  const int64_t items = int64_t{a.numbers} * a.heads;
  const auto blocks = static_cast<unsigned>(std::min<int64_t>(items, traits.multiprocessors));
  kKernel<<<blocks, kThreads, Shared::kBytes, stream>>>(a);
  checkLaunch("expandedPrefill");
}

}  // namespace expanded

bool canPrefillExpanded(const ExpandedAttention& a, const DeviceTraits& traits) {
  const DType type = a.query.dtype;
  const Heads& both = a.keys.keyValue;
  const Matrix& rope = a.keys.ropeKey;
  const bool oneType = type == a.out.dtype && type == both.dtype && type == rope.dtype;
  const int64_t items = int64_t{a.query.heads} * (a.batch.tokens / expanded::kQueries + a.batch.sequences);
  return traits.architecture >= 90 && oneType && (type == DType::kBF16 || type == DType::kF16) && a.scale > 0 &&
         a.query.dim == expanded::kKeyDim && a.out.dim == expanded::kValueDim && rope.columns == 64 &&
         isChunked(a.query) && isChunked(a.out) && isChunked(both) && isChunked(rope) && items < int64_t{1} << 31;
}

void launchExpandedPrefill(const ExpandedAttention& attention, const DeviceTraits& traits, cudaStream_t stream) {
  if (attention.query.dtype == DType::kBF16) expanded::launch<DType::kBF16>(attention, traits, stream);
  else expanded::launch<DType::kF16>(attention, traits, stream);
}

}  // namespace octavo::cuda
