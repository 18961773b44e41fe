#include "engine/request.h"

#include <cmath>
#include <unordered_set>

#include "base/number_text.h"

namespace octavo {

namespace {

[[noreturn]] void refuse(ErrorCode code, const std::string& sentence) { throw Error(code, sentence); }

void requireRange(const char* name, float value, float low, float high) {
  if (value >= low && value <= high) return;  // NaN fails
  refuse(ErrorCode::kInvalidArgument, std::string(name) + " is " + numberText(value) +
                                          "; give a number from " + numberText(low) + " to " +
                                          numberText(high));
}

void requireTokens(const char* name, const std::vector<int32_t>& tokens, int32_t vocabulary) {
  for (size_t index = 0; index < tokens.size(); ++index) {
    if (tokens[index] >= 0 && tokens[index] < vocabulary) continue;
    refuse(ErrorCode::kInvalidArgument, std::string(name) + " holds token id " + std::to_string(tokens[index]) +
                                            " at position " + std::to_string(index) +
                                            "; the model's vocabulary has ids 0 to " +
                                            std::to_string(vocabulary - 1));
  }
}

void validateSampling(const SamplingParams& sampling) {
  constexpr float kLargest = 1e6;
  requireRange("temperature", sampling.temperature, 0, kLargest);
  if (sampling.topK < 0) {
    refuse(ErrorCode::kInvalidArgument,
           "topK is " + std::to_string(sampling.topK) + "; give 0 (keep all) or how many tokens to keep");
  }
  if (!(sampling.topP > 0 && sampling.topP <= 1)) {
    refuse(ErrorCode::kInvalidArgument,
           "topP is " + numberText(sampling.topP) + "; give a number above 0, at most 1");
  }
  requireRange("minP", sampling.minP, 0, 1);
  if (!(sampling.repetitionPenalty > 0 && sampling.repetitionPenalty <= kLargest)) {
    refuse(ErrorCode::kInvalidArgument, "repetitionPenalty is " + numberText(sampling.repetitionPenalty) +
                                            "; give a number above 0 (1 changes nothing)");
  }
  requireRange("frequencyPenalty", sampling.frequencyPenalty, -kLargest, kLargest);
  requireRange("presencePenalty", sampling.presencePenalty, -kLargest, kLargest);
}

void validateBiases(const std::vector<LogitBias>& biases, const RequestLimits& limits) {
  if (biases.size() > kMaxBiases) {
    refuse(ErrorCode::kInvalidArgument, "biases list " + std::to_string(biases.size()) + " tokens; at most " +
                                            std::to_string(kMaxBiases) + " are taken");
  }
  std::unordered_set<int32_t> seen;
  int32_t forbidden = 0;
  for (const LogitBias& bias : biases) {
    requireTokens("biases", {bias.token}, limits.vocabulary);
    if (!seen.insert(bias.token).second) {
      refuse(ErrorCode::kInvalidArgument,
             "biases list token " + std::to_string(bias.token) + " twice; give one bias a token");
    }
    if (std::isnan(bias.bias) || bias.bias == INFINITY) {
      refuse(ErrorCode::kInvalidArgument, "the bias of token " + std::to_string(bias.token) + " is " +
                                              numberText(bias.bias) +
                                              "; give a finite number, or -Infinity to forbid the token");
    }
    forbidden += bias.bias == -INFINITY && bias.token < limits.sampledVocabulary;
  }
  if (forbidden < limits.sampledVocabulary) return;
  refuse(ErrorCode::kInvalidArgument, "biases forbid all " + std::to_string(forbidden) +
                                          " tokens the model may pick; leave at least one");
}

void validateLength(const RequestSpec& spec, const RequestLimits& limits) {
  const auto prompt = static_cast<int64_t>(spec.prompt.size());
  const int64_t total = prompt + spec.maxNewTokens;
  if (total > limits.contextLength) {
    refuse(ErrorCode::kContextExceeded,
           "the prompt has " + std::to_string(prompt) + " tokens and maxNewTokens asks for " +
               std::to_string(spec.maxNewTokens) + ", " + std::to_string(total) +
               " together; the model's context is " + std::to_string(limits.contextLength) +
               " tokens: shorten the prompt or ask for fewer new tokens");
  }
  const int64_t blocks = blocksOf(spec, limits.blockSize);
  if (blocks > limits.poolBlocks) {
    refuse(ErrorCode::kRequestTooLarge,
           "prompt and new tokens (" + std::to_string(total) + ") need " + std::to_string(blocks) +
               " KV blocks of " + std::to_string(limits.blockSize) + " tokens; the whole pool has " +
               std::to_string(limits.poolBlocks) +
               ": shorten the request, or load with more KV memory (memory.kv, memory.limit)");
  }
}

}  // namespace

bool Request::hasPenalty() const {
  const SamplingParams& sampling = spec.sampling;
  return sampling.repetitionPenalty != 1 || sampling.frequencyPenalty != 0 || sampling.presencePenalty != 0;
}

void Request::prepare(int32_t vocabulary) {
  if (hasPenalty() && !spec.score) history = std::make_unique<TokenHistory>(spec.prompt);
  if (!spec.score) return;
  const size_t count = spec.prompt.size() * static_cast<size_t>(vocabulary);
  logits = std::make_shared<std::vector<float>>();
  try {
    logits->reserve(count);  // so that no step of the engine can run out of it
  } catch (const std::exception&) {
    refuse(ErrorCode::kOutOfMemory, "the logits of " + std::to_string(spec.prompt.size()) + " positions by " +
                                        std::to_string(vocabulary) + " tokens take " +
                                        std::to_string(count * sizeof(float)) +
                                        " bytes of host memory, which are not there; score a shorter prompt");
  }
}

int64_t blocksOf(const RequestSpec& spec, int32_t blockSize) {
  const int64_t tokens = static_cast<int64_t>(spec.prompt.size()) + spec.maxNewTokens;
  return (tokens + blockSize - 1) / blockSize;
}

void validateRequest(const RequestSpec& spec, const RequestLimits& limits) {
  if (spec.prompt.empty()) {
    refuse(ErrorCode::kInvalidArgument, "the prompt has no tokens; give at least one (the BOS token, say)");
  }
  requireTokens("the prompt", spec.prompt, limits.vocabulary);
  if (spec.score ? spec.maxNewTokens != 0 : spec.maxNewTokens <= 0) {
    refuse(ErrorCode::kInvalidArgument, "maxNewTokens is " + std::to_string(spec.maxNewTokens) +
                                            (spec.score ? "; a score request generates none: give 0"
                                                        : "; give at least 1"));
  }
  const int32_t mostSamples = spec.score ? 1 : kMaxSamples;
  if (spec.samples < 1 || spec.samples > mostSamples) {
    refuse(ErrorCode::kInvalidArgument, "samples are " + std::to_string(spec.samples) + "; give 1 to " +
                                            std::to_string(mostSamples));
  }
  if (spec.credits < 0) {
    refuse(ErrorCode::kInvalidArgument, "credits are " + std::to_string(spec.credits) + "; give 0 or more");
  }
  if (spec.topLogprobs < 0 || spec.topLogprobs > kMaxTopLogprobs) {
    refuse(ErrorCode::kInvalidArgument, "topLogprobs is " + std::to_string(spec.topLogprobs) +
                                            "; give 0 to " + std::to_string(kMaxTopLogprobs));
  }
  requireTokens("stopTokens", spec.stopTokens, limits.vocabulary);
  validateSampling(spec.sampling);
  validateBiases(spec.biases, limits);
  validateLength(spec, limits);
}

}  // namespace octavo
