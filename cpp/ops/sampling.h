// Sampling: its parameters, its order and its random numbers.
//
// For each row, in this order:
//  1. z = logits + bias of the row's listed tokens (a bias of −inf forbids a token);
//  2. repetition: for every token seen in prompt or output, z = z > 0 ? z / r : z · r;
//     then z −= frequency · outputCount + presence · (outputCount > 0);
//  3. temperature 0: the largest z, lowest id on ties. Otherwise z = (z − max z) / temperature, so that
//     no temperature, however small, makes two different z the same largest number;
//  4. top-k: keep the k largest (ties: lower ids first); 0 keeps all;
//  5. top-p over the softmax of what is kept, in descending order: the smallest set whose sum is ≥ p,
//     at least one token; 6. min-p: keep tokens with probability ≥ minP · largest probability;
//  7. draw: u from Philox4x32-10 with key = seed (low word first), counter = (position, 0, 0, 0), u = the upper
//     24 bits of the first output word · 2⁻²⁴; the first kept token in id order whose cumulative probability
//     exceeds u · total.
// NaN logits count as −inf, +inf (also out of a penalty) as the largest finite float. If every z is −inf, token 0
// is returned with log-probability −inf.
// Log-probabilities are of the untouched logits: (z − max) − log Σ exp(z − max) in fp32, over all `vocabulary`
// columns; the top tokens to report are the largest untouched logits below `sampled`, lowest id first on ties.
#pragma once

#include <cstdint>

namespace octavo {

struct SamplingParams {
  float temperature = 1;
  int32_t topK = 0;
  float topP = 1;
  float minP = 0;
  float repetitionPenalty = 1;
  float frequencyPenalty = 0;
  float presencePenalty = 0;
  uint32_t position = 0;      // of the token to be drawn in its sequence: the random counter
  uint64_t seed = 0;
  int32_t historyStart = 0;   // range in SampleArguments::history
  int32_t historyCount = 0;
  int32_t biasStart = 0;      // range in SampleArguments::biases
  int32_t biasCount = 0;
};

/**
 * Stands for a token that the host does not know yet: the one of this row of the last `sample`. Its own inverse; below
 * 0, where no token id is.
 */
constexpr int32_t sampledAt(int32_t row) { return -1 - row; }

/** A distinct token of prompt or output, and how often the output holds it. Below 0 it is skipped. */
struct TokenCount {
  int32_t token;
  int32_t outputCount;
};

struct LogitBias {
  int32_t token;
  float bias;
};

/** All pointers are device memory. */
struct SampleArguments {
  float* logits = nullptr;                 // [rows, vocabulary] fp32; overwritten (scratch afterwards)
  int32_t rows = 0;
  int32_t vocabulary = 0;                  // columns; also the row stride
  int32_t sampled = 0;                     // ids ≥ sampled are never picked (padding rows of the vocabulary)
  const SamplingParams* params = nullptr;  // [rows]
  const TokenCount* history = nullptr;
  const LogitBias* biases = nullptr;
  int32_t* tokens = nullptr;               // [rows] out
  float* logprobs = nullptr;               // [rows] out, of the picked token
  int32_t topCount = 0;                    // 0 … 20 best tokens to report
  const int32_t* topWanted = nullptr;      // where given: report so many of them alone, at most topCount
  int32_t* topTokens = nullptr;            // [rows, topCount] out, best first
  float* topLogprobs = nullptr;            // [rows, topCount] out
};

}  // namespace octavo
