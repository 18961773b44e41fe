// Attention of prompt chunks on Hopper (Shah et al., FlashAttention-3, 2024): wgmma, the tensor memory accelerator and
// warp specialisation over the paged cache (sm_90a).
//
// A block takes 128 query tokens of a head, a warpgroup 64 of them; one warp brings tiles of 128 keys and values, a box
// a cache block, two of each ahead. A warpgroup multiplies the next tile's scores while the tensor cores still add
// this tile's values. Weights are rounded to 16 bits for the second product, their sum is not. Tiles are cut at
// multiples of 128 from key 0 and taken in ascending order: a row's result depends on its position and keys alone.
//
// Measured on an H200, bf16, causal half counted, 2026-11-29, TFLOP/s (mma.sync of prefill.cu beside it): 8192 tokens, 64
// query and 8 KV heads of 128 550 (101), with blocks of 16 501; 32 and 32 heads 516 (101); 32768 tokens 539; the last
// 2048 of 34816 545; 1024 tokens of 32 and 8 heads 32.7 µs (105); 16384 tokens of dim 64 381.
#include <algorithm>

#include "cuda/attention/attention.h"
#include "cuda/attention/wide_prefill_work.cuh"
#include "cuda/device/alignment.h"
#include "cuda/device/floats.cuh"
#include "cuda/device/shared_memory.h"
#include "cuda/device/tensor_map.h"
#include "cuda/ptx/warp_mma.cuh"
#include "cuda/ptx/wgmma_registers.cuh"

namespace octavo::cuda {
namespace wide {

constexpr float kLog2E = 1.4426950408889634f;

/** The running softmax of a lane's two rows, 8 apart. */
struct Softmax {
  float maximum[2] = {-INFINITY, -INFINITY}, sum[2] = {0, 0};
};

__device__ __forceinline__ float exp2Approximate(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/** −inf where a row does not see a key. `row`: of the lane's first row in the block; `firstKey`: of the tile. */
__device__ __forceinline__ void maskScores(float (&scores)[kKeys / 2], const Arguments& a, const Work& work, int row,
                                           int firstKey) {
  int firstPosition = work.position + row, column = firstKey + threadIdx.x % 4 * 2;
#pragma unroll
  for (int i = 0; i < kKeys / 2; ++i) {
    int position = firstPosition + (i >> 1 & 1) * 8, key = column + (i >> 2) * 8 + (i & 1);
    if (key > position || (a.window > 0 && key <= position - a.window)) scores[i] = -INFINITY;
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
    corrections[r] = exp2Approximate(softmax.maximum[r] * scaleLog2 - base);
    softmax.maximum[r] = most;
    float sum = 0;
#pragma unroll
    for (int i = 0; i < kKeys / 2; i += 4) {
#pragma unroll
      for (int j = 2 * r; j < 2 * r + 2; ++j) {
        scores[i + j] = exp2Approximate(fmaf(scores[i + j], scaleLog2, -base));
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
template <DType kType, int kDim>
__device__ __forceinline__ void startScores(float (&scores)[kKeys / 2], uint32_t query, uint32_t keys) {
  ptx::fenceProducts();
#pragma unroll
  for (int step = 0; step < kDim / 16; ++step) {
    int slab = step / 4, within = step % 4;
    uint64_t left = ptx::tileDescriptor(query + slab * Shared<kDim>::kQuerySlab) + 2 * within;
    uint64_t right = ptx::tileDescriptor(keys + slab * Shared<kDim>::kKeySlab) + 2 * within;
    ptx::multiplyTiles<kType>(scores, left, right, step != 0);
  }
  ptx::commitProducts();
}

/** out (+)= weights · V of a warpgroup, left under way. */
template <DType kType, int kDim>
__device__ __forceinline__ void startValues(float (&out)[kDim / 2], const uint32_t (&weights)[kKeys / 4],
                                            uint32_t values, bool accumulates) {
  ptx::fenceProducts();
#pragma unroll
  for (int step = 0; step < kKeys / 16; ++step) {
    uint64_t right = ptx::transposedDescriptor(values + step * 16 * kRowBytes, Shared<kDim>::kKeySlab);
    ptx::multiplyRegisters<kType>(out, weights + 4 * step, right, accumulates || step != 0);
  }
  ptx::commitProducts();
}

/** Values past the last key may be NaN in the cache; 0 · NaN would spoil a row. By both warpgroups. */
template <int kDim>
__device__ __forceinline__ void clearValues(uint32_t values, int firstRow) {
  int thread = static_cast<int>(threadIdx.x) - 128;
  int chunks = (kKeys - firstRow) * (kRowBytes / 16);
#pragma unroll
  for (int slab = 0; slab < Shared<kDim>::kSlabs; ++slab) {
    uint32_t from = values + slab * Shared<kDim>::kKeySlab + firstRow * kRowBytes;
    for (int i = thread; i < chunks; i += 128 * kGroups) {
      asm volatile("st.shared.v4.u32 [%0], {%1, %1, %1, %1};" ::"r"(from + i * 16), "r"(0) : "memory");
    }
  }
  ptx::fenceForCopies();
  asm volatile("bar.sync 1, 256;" ::: "memory");
}

template <int kDim>
__device__ __forceinline__ void storeRows(const float (&out)[kDim / 2], Softmax& softmax, const Arguments& a,
                                          const Work& work, int row) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    softmax.sum[r] += __shfl_xor_sync(0xffffffffu, softmax.sum[r], 1);
    softmax.sum[r] += __shfl_xor_sync(0xffffffffu, softmax.sum[r], 2);
    float scale = softmax.sum[r] > 0 ? 1.0f / softmax.sum[r] : 0.0f;
    if (row + 8 * r >= work.rows) continue;
    int64_t to = static_cast<int64_t>(work.first + row + 8 * r) * a.out.tokenStride +
                 static_cast<int64_t>(work.head) * kDim + threadIdx.x % 4 * 2;
#pragma unroll
    for (int i = 0; i < kDim / 8; ++i) {
      float low = out[i * 4 + 2 * r] * scale, high = out[i * 4 + 2 * r + 1] * scale;
      if (a.storesPairs) {
        uint32_t pair = a.out.dtype == DType::kBF16 ? packBf16(low, high) : packF16(low, high);
        *reinterpret_cast<uint32_t*>(static_cast<uint16_t*>(a.out.data) + to + i * 8) = pair;
      } else {
        storeFloat(a.out.data, a.out.dtype, to + i * 8, low);
        storeFloat(a.out.data, a.out.dtype, to + i * 8 + 1, high);
      }
    }
  }
}

/** A warpgroup's share of every item. */
template <DType kType, int kDim>
__device__ __forceinline__ void consume(const Arguments& a, const Shared<kDim>& shared) {
  using Place = Shared<kDim>;
  int group = static_cast<int>(threadIdx.x) / 128 - 1, lane = threadIdx.x % 32;
  int row = group * kGroupQueries + threadIdx.x / 32 % 4 * 16 + lane / 4;
  uint32_t query = shared.query + group * Place::kSlabs * Place::kQuerySlab;
  Slot keys, values;
  uint32_t queryParity = 0;
  Work work;
  auto release = [lane](uint32_t empty) {
    if (lane == 0) ptx::arrive(empty);
  };
  for (int item = blockIdx.x; item < a.numbers * a.heads; item += gridDim.x) {
    if (!findWork(a, item, work)) continue;
    ptx::waitBarrier(shared.queryFull, queryParity);
    queryParity ^= 1;
    Softmax softmax;
    float out[kDim / 2], scores[kKeys / 2], corrections[2];
    uint32_t weights[kKeys / 4];
    for (int tile = work.firstTile; tile < work.endTile; ++tile, keys.advance()) {
      ptx::waitBarrier(shared.keysFull + keys.index * 8, keys.parity);
      startScores<kType, kDim>(scores, query, shared.keys + keys.index * Place::kTileBytes);
      bool hasValues = tile > work.firstTile;
      if (hasValues) {
        ptx::waitBarrier(shared.valuesFull + values.index * 8, values.parity);
        startValues<kType, kDim>(out, weights, shared.values + values.index * Place::kTileBytes,
                                 tile > work.firstTile + 1);
        ptx::waitProducts<1>();
      } else {
        ptx::waitProducts<0>();
      }
      ptx::pinRegisters(scores);
      release(shared.keysEmpty + keys.index * 8);
      int firstKey = tile * kKeys, firstPosition = work.position + group * kGroupQueries;
      bool late = firstKey + kKeys - 1 > firstPosition;
      bool early = a.window > 0 && firstKey <= firstPosition + kGroupQueries - 1 - a.window;
      if (late || early) maskScores(scores, a, work, row, firstKey);
      weigh(softmax, scores, a.scaleLog2, corrections);
      if (hasValues) {
        ptx::waitProducts<0>();
        ptx::pinRegisters(out);
        release(shared.valuesEmpty + values.index * 8);
        values.advance();
#pragma unroll
        for (int i = 0; i < kDim / 2; ++i) out[i] *= corrections[i >> 1 & 1];
      }
      packWeights<kType>(weights, scores);
    }
    release(shared.queryEmpty);
    ptx::waitBarrier(shared.valuesFull + values.index * 8, values.parity);
    uint32_t last = shared.values + values.index * Place::kTileBytes;
    int filled = work.endKey() - (work.endTile - 1) * kKeys;
    if (filled < kKeys) clearValues<kDim>(last, filled);
    startValues<kType, kDim>(out, weights, last, work.endTile > work.firstTile + 1);
    ptx::waitProducts<0>();
    ptx::pinRegisters(out);
    release(shared.valuesEmpty + values.index * 8);
    values.advance();
    storeRows<kDim>(out, softmax, a, work, row);
  }
}

template <DType kType, int kDim>
__global__ void __launch_bounds__(kThreads, 1) widePrefillKernel(const __grid_constant__ Arguments a) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ uint8_t bytes[];
  const Shared<kDim> shared(ptx::sharedAddress(bytes));
  if (threadIdx.x == 0) shared.initialise();
  __syncthreads();
  if (threadIdx.x < 128) {
    ptx::lowerRegisters<40>();
    if (threadIdx.x < 32) produce<kDim>(a, shared);
  } else {
    ptx::raiseRegisters<232>();
    consume<kType, kDim>(a, shared);
  }
#endif
}

template <DType kType, int kDim>
void launch(const PagedAttention& attention, const DeviceTraits& traits, cudaStream_t stream) {
  constexpr auto kKernel = widePrefillKernel<kType, kDim>;
  allowSharedMemory<kKernel>(Shared<kDim>::kBytes);
  const KvCacheView& cache = attention.cache;
  const Heads& query = attention.query;
  const int64_t rows = cache.blocks * cache.layers * 2 * cache.kvHeads * cache.blockSize;
  const Arguments a{
      tensorMapOf({query.data, query.dtype, query.tokens, int64_t{query.heads} * kDim, query.tokenStride},
                  kGroupQueries),
      tensorMapOf({cache.data, cache.dtype, rows, kDim, kDim}, cache.blockSize),
      attention.out,
      attention.batch,
      attention.scale * kLog2E,
      attention.window,
      query.heads / cache.kvHeads,
      query.heads,
      cache.kvHeads,
      cache.blockSize,
      attention.layer,
      cache.layers,
      attention.batch.tokens / kQueries + attention.batch.sequences,
      dtypeBytes(attention.out.dtype) == 2 && isChunked(attention.out)};
  const int64_t items = int64_t{a.numbers} * a.heads;
  const auto blocks = static_cast<unsigned>(std::min<int64_t>(items, traits.multiprocessors));
  kKernel<<<blocks, kThreads, Shared<kDim>::kBytes, stream>>>(a);
  checkLaunch("widePrefill");
}

}  // namespace wide

bool canPrefillWide(const PagedAttention& attention, const DeviceTraits& traits) {
  const KvCacheView& cache = attention.cache;
  const int64_t rows = cache.blocks * cache.layers * 2 * cache.kvHeads * cache.blockSize;
  return traits.architecture >= 90 && canPrefillOnTensorCores(attention) && attention.scale > 0 &&
         rows < int64_t{1} << 31 && (cache.headDim == 64 || cache.headDim == 128);
}

void launchWidePrefill(const PagedAttention& attention, const DeviceTraits& traits, cudaStream_t stream) {
  const bool isBf16 = attention.cache.dtype == DType::kBF16;
  if (attention.cache.headDim == 64) {
    if (isBf16) wide::launch<DType::kBF16, 64>(attention, traits, stream);
    else wide::launch<DType::kF16, 64>(attention, traits, stream);
  } else {
    if (isBf16) wide::launch<DType::kBF16, 128>(attention, traits, stream);
    else wide::launch<DType::kF16, 128>(attention, traits, stream);
  }
}

}  // namespace octavo::cuda
