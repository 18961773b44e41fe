// Tokens that only the device knows, put where the next step reads them: a launch each, nothing but latency.
#include "cuda/device/alignment.h"
#include "cuda/device/cuda_check.h"
#include "cuda/sampling/sampling.h"

namespace octavo::cuda {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
resolveTokensKernel(int32_t* tokens, int64_t count, const int32_t* sampled) {
  int64_t index = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (index >= count) return;
  int32_t token = tokens[index];
  if (token < 0) tokens[index] = sampled[-1 - token];
}

/** A block a row. The entries before the last are distinct: one thread at most finds the token. */
__global__ void __launch_bounds__(kThreads)
resolveHistoryKernel(TokenCount* history, const SamplingParams* params, const int32_t* sampled) {
  __shared__ int found;
  int count = params[blockIdx.x].historyCount;
  if (count == 0) return;
  TokenCount* first = history + params[blockIdx.x].historyStart;
  int32_t stands = first[count - 1].token;
  if (stands >= 0) return;
  int32_t token = sampled[-1 - stands];
  if (threadIdx.x == 0) found = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < count - 1; i += kThreads) {
    if (first[i].token != token) continue;
    ++first[i].outputCount;
    found = 1;
  }
  __syncthreads();
  if (threadIdx.x == 0 && !found) first[count - 1] = {token, 1};
}

}  // namespace

void launchResolveTokens(int32_t* tokens, int64_t count, const int32_t* sampled, cudaStream_t stream) {
  if (count == 0) return;
  auto blocks = static_cast<unsigned>(ceilDivide(count, kThreads));
  resolveTokensKernel<<<blocks, kThreads, 0, stream>>>(tokens, count, sampled);
  checkLaunch("resolveTokens");
}

void launchResolveHistory(TokenCount* history, const SamplingParams* params, int32_t rows, const int32_t* sampled,
                          cudaStream_t stream) {
  if (rows == 0) return;
  resolveHistoryKernel<<<static_cast<unsigned>(rows), kThreads, 0, stream>>>(history, params, sampled);
  checkLaunch("resolveHistory");
}

}  // namespace octavo::cuda
