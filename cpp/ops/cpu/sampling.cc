// Sampling as ops/sampling.h defines it. Rows are independent; cumulative sums are kept in double, so that the
// order of a hundred thousand terms does not show in the result.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "ops/cpu/cpu_ops.h"
#include "ops/cpu/philox.h"
#include "ops/cpu/row_kernels.h"
#include "ops/cpu/scratch.h"

namespace octavo {

using namespace cpu;

namespace {

constexpr float kLowest = -std::numeric_limits<float>::infinity();
constexpr float kLargest = std::numeric_limits<float>::max();

void cleanLogits(float* logits, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const float z = logits[i] > kLargest ? kLargest : logits[i];
    logits[i] = z != z ? kLowest : z;
  }
}

void applyBiases(float* z, const SampleArguments& arguments, const SamplingParams& params) {
  for (int32_t i = params.biasStart; i < params.biasStart + params.biasCount; ++i) {
    const LogitBias& bias = arguments.biases[i];
    if (bias.token >= 0 && bias.token < arguments.vocabulary) z[bias.token] += bias.bias;
  }
}

void applyPenalties(float* z, const SampleArguments& arguments, const SamplingParams& params) {
  for (int32_t i = params.historyStart; i < params.historyStart + params.historyCount; ++i) {
    const TokenCount& seen = arguments.history[i];
    if (seen.token < 0 || seen.token >= arguments.vocabulary) continue;
    float& value = z[seen.token];
    value = value > 0 ? value / params.repetitionPenalty : value * params.repetitionPenalty;
    if (seen.outputCount > 0) {
      value -= params.frequencyPenalty * static_cast<float>(seen.outputCount) + params.presencePenalty;
    }
  }
}

int32_t firstLargest(const float* z, int64_t count) {
  const float largest = rowKernels().maximum(z, count);
  return static_cast<int32_t>(std::find(z, z + count, largest) - z);
}

/** Tokens in the order of preference: larger z first, lower id on ties. */
struct Better {
  const float* z;
  bool operator()(int32_t a, int32_t b) const { return z[a] != z[b] ? z[a] > z[b] : a < b; }
};

/**
 * Cuts `tokens` down to the nucleus: in descending order, the fewest whose weights reach `share` of the total.
 * Sorts no more of the list than it must.
 */
void keepNucleus(std::vector<int32_t>& tokens, const Better& better, const float* weights, double share) {
  double total = 0;
  for (int32_t token : tokens) total += weights[token];
  const double wanted = share * total;
  double sum = 0;
  size_t sorted = 0;
  for (size_t some = 256; sorted < tokens.size(); some *= 4) {
    const size_t end = std::min(tokens.size(), sorted + some);
    std::partial_sort(tokens.begin() + sorted, tokens.begin() + end, tokens.end(), better);
    for (; sorted < end; ++sorted) {
      sum += weights[tokens[sorted]];
      if (sum < wanted) continue;
      tokens.resize(sorted + 1);
      return;
    }
  }
}

/** Sets the weight of every token that top-k and top-p leave out to zero. */
void dropUnlikely(const float* z, float* weights, int32_t count, const SamplingParams& params) {
  const bool limited = params.topK > 0 && params.topK < count;
  if (!limited && params.topP >= 1) return;
  std::vector<int32_t> tokens;
  for (int32_t token = 0; token < count; ++token) {
    if (z[token] > kLowest) tokens.push_back(token);
  }
  const Better better{z};
  if (limited && static_cast<size_t>(params.topK) < tokens.size()) {
    std::nth_element(tokens.begin(), tokens.begin() + params.topK, tokens.end(), better);
    tokens.resize(params.topK);
  }
  if (params.topP < 1) keepNucleus(tokens, better, weights, params.topP);

  std::sort(tokens.begin(), tokens.end());
  int32_t next = 0;
  for (int32_t token : tokens) {
    std::fill(weights + next, weights + token, 0.0f);
    next = token + 1;
  }
  std::fill(weights + next, weights + count, 0.0f);
}

int32_t draw(const float* weights, int32_t count, float u) {
  double total = 0;
  for (int32_t token = 0; token < count; ++token) total += weights[token];
  const double target = u * total;
  double sum = 0;
  int32_t last = 0;
  for (int32_t token = 0; token < count; ++token) {
    if (weights[token] == 0) continue;
    sum += weights[token];
    last = token;
    if (sum > target) break;
  }
  return last;
}

/** Picks from z (overwritten); `weights` is as long. Some z is above −inf. */
int32_t pick(float* z, float* weights, int32_t count, const SamplingParams& params) {
  if (params.temperature == 0) return firstLargest(z, count);
  const float largest = rowKernels().maximum(z, count);
  for (int32_t i = 0; i < count; ++i) z[i] = (z[i] - largest) / params.temperature;
  std::copy(z, z + count, weights);
  rowKernels().exponentials(weights, 0, count);  // the largest weight is 1
  dropUnlikely(z, weights, count, params);
  for (int32_t i = 0; i < count; ++i) weights[i] = weights[i] >= params.minP ? weights[i] : 0.0f;
  return draw(weights, count, uniform(params.seed, params.position));
}

/** What turns a row's logits into log-probabilities. */
struct LogTotal {
  float largest, logSum;

  LogTotal(const float* logits, float* space, int64_t count) : largest(rowKernels().maximum(logits, count)), logSum(0) {
    if (largest == kLowest) return;
    std::copy(logits, logits + count, space);
    logSum = std::log(rowKernels().exponentials(space, largest, count));
  }

  float logprob(float logit) const { return logit == kLowest ? kLowest : (logit - largest) - logSum; }
};

void reportTop(const SampleArguments& arguments, int64_t row, const float* logits, const LogTotal& total) {
  const Better better{logits};
  int32_t best[20];
  int32_t kept = 0;
  int32_t wanted = std::min(arguments.topCount, 20);
  if (arguments.topWanted) wanted = std::min(wanted, *arguments.topWanted);
  if (wanted <= 0) return;
  for (int32_t token = 0; token < arguments.sampled; ++token) {
    if (kept == wanted && !better(token, best[kept - 1])) continue;
    int32_t at = kept < wanted ? kept++ : kept - 1;
    for (; at > 0 && better(token, best[at - 1]); --at) best[at] = best[at - 1];
    best[at] = token;
  }
  for (int32_t i = 0; i < kept; ++i) {
    arguments.topTokens[row * arguments.topCount + i] = best[i];
    arguments.topLogprobs[row * arguments.topCount + i] = total.logprob(logits[best[i]]);
  }
}

void sampleRow(const SampleArguments& arguments, int64_t row) {
  const SamplingParams& params = arguments.params[row];
  float* logits = arguments.logits + row * arguments.vocabulary;
  float* z = scratch(ScratchUse::kLogits, 2 * static_cast<size_t>(arguments.vocabulary));
  float* weights = z + arguments.vocabulary;
  cleanLogits(logits, arguments.vocabulary);
  const LogTotal total(logits, weights, arguments.vocabulary);
  if (arguments.topCount > 0) reportTop(arguments, row, logits, total);

  std::copy(logits, logits + arguments.vocabulary, z);
  applyBiases(z, arguments, params);
  applyPenalties(z, arguments, params);
  cleanLogits(z, arguments.sampled);
  if (rowKernels().maximum(z, arguments.sampled) == kLowest) {
    arguments.tokens[row] = 0;
    arguments.logprobs[row] = kLowest;
    return;
  }
  const int32_t token = pick(z, weights, arguments.sampled, params);
  arguments.tokens[row] = token;
  arguments.logprobs[row] = total.logprob(logits[token]);
}

}  // namespace

void CpuOps::sample(const SampleArguments& arguments, Stream&) {
  pool_.parallelFor(arguments.rows, 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) sampleRow(arguments, row);
  });
}

}  // namespace octavo
