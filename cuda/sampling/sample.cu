// One block samples one row. Weights are exp(z − max) in fixed point (44 bits below the point), so that sums,
// and with them the nucleus and the token drawn, do not depend on the order of addition. A row is read once
// a pass and stays in L2: 3 passes for greedy, 8 with top-k, top-p and a draw.
//
// 4 rows on an H200 (2026-11-29): vocabulary 49152, greedy 16 µs, a draw 35, with top-k and top-p 83;
// 151936: 37, 85, 195. Before candidates were listed and sums fused: 201 and 569 with top-k and top-p.
#include "cuda/device/reduce.cuh"
#include "cuda/device/shared_memory.h"
#include "cuda/sampling/philox.cuh"
#include "cuda/sampling/preference.cuh"
#include "cuda/sampling/sampling.h"

namespace octavo::cuda {
namespace {

using namespace sampling;

constexpr int kMaxTop = 20;
// Logits that biases and penalties overwrite, kept for the log-probability of the token picked.
constexpr int kSavedLogits = 16384;

struct RowScratch {
  Scratch scratch;
  Candidates candidates;
  int topCount;
  int32_t topIds[kMaxTop];
  float topLogits[kMaxTop];
  float original;
};

struct Row {
  float* logits;
  int vocabulary, sampled;
  SamplingParams params;
  const TokenCount* history;
  const LogitBias* biases;
  float* saved;  // [kSavedLogits]: of the biases, then of the history
};

/** The largest value and the lowest id that has it. */
struct Best {
  float value = -INFINITY;
  int32_t id = 0x7fffffff;
  __device__ __forceinline__ void consider(float otherValue, int32_t otherId) {
    if (otherValue > value || (otherValue == value && otherId < id)) { value = otherValue; id = otherId; }
  }
};

__device__ Best blockBest(Best best, Scratch& scratch) {
#pragma unroll
  for (int offset = 16; offset > 0; offset >>= 1) {
    best.consider(__shfl_xor_sync(0xffffffffu, best.value, offset), __shfl_xor_sync(0xffffffffu, best.id, offset));
  }
  __syncthreads();
  if (threadIdx.x % 32 == 0) {
    scratch.warpValues[threadIdx.x / 32] = best.value;
    scratch.warpIds[threadIdx.x / 32] = best.id;
  }
  __syncthreads();
#pragma unroll
  for (int warp = 0; warp < kWarps; ++warp) best.consider(scratch.warpValues[warp], scratch.warpIds[warp]);
  return best;
}

__device__ Best largest(const Values& values, int count, Scratch& scratch) {
  Best best;
  forEach(values, count, [&](int id, float z) { best.consider(z, id); });
  return blockBest(best, scratch);
}

/** What turns a logit into its log-probability. */
struct LogTotal {
  float maximum, logSum;  // ln Σ exp(logit − maximum) over the whole vocabulary
  __device__ __forceinline__ float logprob(float logit) const {
    return logit == -INFINITY ? -INFINITY : (logit - maximum) - logSum;
  }
};

__device__ LogTotal logTotalOf(const Row& row, Scratch& scratch) {
  Values values{row.logits};
  float maximum = largest(values, row.vocabulary, scratch).value;
  if (maximum == -INFINITY) return {maximum, 0.0f};
  float sum = 0;
  forEach(values, row.vocabulary, [&](int, float z) { sum += expf(z - maximum); });
  return {maximum, logf(blockSum<kThreads>(sum))};
}

/** The `count` largest untouched logits below `sampled`, best first. */
__device__ void reportTop(const Row& row, const LogTotal& total, int count, int32_t* tokens, float* logprobs,
                          RowScratch& shared) {
  Values values{row.logits};
  uint64_t wanted = min(count, row.sampled);
  Prefix prefix = shortestPrefix(values, row.sampled, total.maximum, Prefix{}, shared.scratch, shared.candidates,
                                 [](float) { return uint64_t{1}; }, [wanted](uint64_t) { return wanted; });
  if (threadIdx.x == 0) shared.topCount = 0;
  __syncthreads();
  forEach(values, row.sampled, [&](int id, float logit) {
    if (!prefix.holds(orderedBits(logit), id)) return;
    int slot = atomicAdd(&shared.topCount, 1);  // any order: ranked below
    if (slot >= kMaxTop) return;
    shared.topIds[slot] = id;
    shared.topLogits[slot] = logit;
  });
  __syncthreads();
  int own = threadIdx.x, kept = min(shared.topCount, kMaxTop);
  if (own < kept) {
    int rank = 0;
    for (int other = 0; other < kept; ++other) {
      float left = shared.topLogits[other], right = shared.topLogits[own];
      rank += left > right || (left == right && shared.topIds[other] < shared.topIds[own]);
    }
    tokens[rank] = shared.topIds[own];
    logprobs[rank] = total.logprob(shared.topLogits[own]);
  }
  __syncthreads();
}

/** Rounded step by step, as the definition is: a fused multiply-add could turn a tie. */
__device__ __forceinline__ float countPenalty(const SamplingParams& p, const TokenCount& entry) {
  return __fadd_rn(__fmul_rn(p.frequencyPenalty, static_cast<float>(entry.outputCount)), p.presencePenalty);
}

/** Biases, then penalties, in place; the tokens of a list are distinct. */
__device__ void adjust(const Row& row) {
  const SamplingParams& p = row.params;
  for (int i = threadIdx.x; i < p.biasCount; i += kThreads) {
    LogitBias entry = row.biases[p.biasStart + i];
    if (entry.token < 0 || entry.token >= row.vocabulary) continue;
    float logit = cleaned(row.logits[entry.token]);
    if (i < kSavedLogits) row.saved[i] = logit;
    row.logits[entry.token] = logit + entry.bias;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < p.historyCount; i += kThreads) {
    TokenCount entry = row.history[p.historyStart + i];
    if (entry.token < 0 || entry.token >= row.vocabulary) continue;
    float logit = cleaned(row.logits[entry.token]);
    if (p.biasCount + i < kSavedLogits) row.saved[p.biasCount + i] = logit;
    float z = logit > 0 ? logit / p.repetitionPenalty : logit * p.repetitionPenalty;
    row.logits[entry.token] = entry.outputCount > 0 ? z - countPenalty(p, entry) : z;
  }
  __syncthreads();
}

/** The inverse of `adjust` for one token, for lists longer than what is saved: within rounding. */
__device__ float withoutPenalty(const SamplingParams& p, const TokenCount& entry, float z) {
  if (entry.outputCount > 0) z += countPenalty(p, entry);
  return z > 0 ? z * p.repetitionPenalty : z / p.repetitionPenalty;
}

/** The logit of `token` before `adjust`. All threads call; all get it. */
__device__ float originalLogit(const Row& row, int token, RowScratch& shared) {
  const SamplingParams& p = row.params;
  if (threadIdx.x == 0) shared.original = cleaned(row.logits[token]);
  __syncthreads();
  for (int i = threadIdx.x; i < p.historyCount; i += kThreads) {
    TokenCount entry = row.history[p.historyStart + i];
    if (entry.token != token) continue;
    bool isSaved = p.biasCount + i < kSavedLogits;
    shared.original = isSaved ? row.saved[p.biasCount + i] : withoutPenalty(p, entry, shared.original);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < p.biasCount; i += kThreads) {  // the bias came first, so it is undone last
    LogitBias entry = row.biases[p.biasStart + i];
    if (entry.token == token) shared.original = i < kSavedLogits ? row.saved[i] : shared.original - entry.bias;
  }
  __syncthreads();
  return shared.original;
}

/** exp(z − maximum) in fixed point; the largest is 2⁴⁴ and 2¹⁹ of them fit in 64 bits. */
__device__ __forceinline__ uint64_t massOf(float z, float maximum) {
  return __float2ull_rn(expf(z - maximum) * 17592186044416.0f);
}

/** Top-k, top-p, min-p and the draw over (z − largest) / temperature, of the adjusted logits. */
__device__ int drawToken(const Row& row, float largestLogit, RowScratch& shared) {
  const SamplingParams& p = row.params;
  Values values{row.logits, largestLogit, p.temperature};
  constexpr float maximum = 0;  // of the values
  auto mass = [](float z) { return massOf(z, maximum); };
  Prefix kept;
  if (p.topK > 0 && p.topK < row.sampled) {
    uint64_t wanted = p.topK;
    kept = shortestPrefix(values, row.sampled, maximum, kept, shared.scratch, shared.candidates,
                          [](float) { return uint64_t{1}; }, [wanted](uint64_t) { return wanted; });
  }
  if (p.topP < 1) {
    double share = fmaxf(p.topP, 0.0f);
    kept = shortestPrefix(values, row.sampled, maximum, kept, shared.scratch, shared.candidates, mass,
                          [share](uint64_t total) {
                            auto wanted = static_cast<uint64_t>(ceil(share * static_cast<double>(total)));
                            return min(max(wanted, uint64_t{1}), total);
                          });
  }
  auto drawnMass = [&](int id) {
    float z = values(id);
    bool likely = kept.holds(orderedBits(z), id) && expf(z - maximum) >= p.minP;
    return likely ? mass(z) : uint64_t{0};
  };
  // floor(u · total) for u = word · 2⁻²⁴: a sum of integers exceeds u · total where it exceeds this.
  uint64_t word = philoxWord(p.seed, p.position) >> 8;
  return findFirst(row.sampled, shared.scratch, drawnMass,
                   [word](uint64_t total) { return __umul64hi(word, total) << 40 | (word * total) >> 24; });
}

__global__ void __launch_bounds__(kThreads) sampleKernel(const __grid_constant__ SampleArguments a) {
  extern __shared__ float saved[];
  __shared__ RowScratch shared;
  int index = blockIdx.x;
  Row row{a.logits + static_cast<int64_t>(index) * a.vocabulary, a.vocabulary, a.sampled, a.params[index],
          a.history, a.biases, saved};
  LogTotal total = logTotalOf(row, shared.scratch);
  const int topCount = a.topWanted ? min(a.topCount, *a.topWanted) : a.topCount;
  if (topCount > 0) {
    int64_t first = static_cast<int64_t>(index) * a.topCount;
    reportTop(row, total, min(topCount, kMaxTop), a.topTokens + first, a.topLogprobs + first, shared);
  }
  __syncthreads();
  adjust(row);
  Best best = largest(Values{row.logits}, row.sampled, shared.scratch);
  bool isEmpty = best.value == -INFINITY;
  int token = isEmpty ? 0 : row.params.temperature == 0 ? best.id : drawToken(row, best.value, shared);
  float logprob = isEmpty ? -INFINITY : total.logprob(originalLogit(row, token, shared));
  if (threadIdx.x == 0) {
    a.tokens[index] = token;
    a.logprobs[index] = logprob;
  }
}

}  // namespace

void launchSample(const SampleArguments& arguments, cudaStream_t stream) {
  if (arguments.rows == 0) return;
  constexpr int kSavedBytes = kSavedLogits * sizeof(float);
  allowSharedMemory<sampleKernel>(kSavedBytes);
  sampleKernel<<<static_cast<unsigned>(arguments.rows), kThreads, kSavedBytes, stream>>>(arguments);
  checkLaunch("sample");
}

}  // namespace octavo::cuda
