// One generation: what the caller asked, and how far it has come.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/engine.h"
#include "engine/stage_timer.h"
#include "engine/token_history.h"

namespace octavo {

struct Session;
struct Tenant;

/** What the device computes for a request in steps that are not booked yet; nothing while no step is under way. */
struct InFlight {
  int32_t tokens = 0;   // whose KV is written
  int32_t outputs = 0;  // tokens that are sampled
  int32_t row = 0;      // of the last of these among the samples of its step
};

struct Request {
  // Read in every step.
  RequestId id = 0;
  Session* holder = nullptr;        // that of `session`, from `Scheduler::enqueue` on
  Tenant* tenant = nullptr;         // of the queue that it was put into
  bool running = false;             // admitted; else it waits
  bool wasAdmitted = false;         // runs, or was parked since
  int32_t missedSteps = 0;          // in a row: no logit row was left, or no room for what its penalties read
  int32_t credits = 0;              // tokens it may still produce
  InFlight inFlight;
  std::vector<int32_t> output;
  std::unique_ptr<TokenHistory> history;        // only when a penalty is set
  std::vector<RequestId> samples;   // that begin when its prompt is computed
  RequestSpec spec;

  SessionId session = 0;
  RequestId awaits = 0;             // of a sample: the request with the prompt; in no queue until then
  int64_t promisedBlocks = 0;       // the most its session can hold while it runs
  int32_t preemptions = 0;          // times that it had to make room while it ran
  int32_t cachedTokens = 0;         // of the prompt, found in the session's KV at the first admission
  int32_t scored = 0;               // of the prompt, with logits that are there: booked by the steps
  // Score requests: [prompt, vocabulary]. Shared with the step in flight, which may outlive the request.
  std::shared_ptr<std::vector<float>> logits;
  RequestTimings timings;
  StageTimer timer;                 // counts only where there are limits

  int32_t promptTokens() const { return static_cast<int32_t>(spec.prompt.size()); }
  /** Prompt and output so far. */
  int32_t length() const { return promptTokens() + static_cast<int32_t>(output.size()); }
  /** And with it what is being sampled. */
  int32_t expectedLength() const { return length() + inFlight.outputs; }
  int32_t token(int32_t position) const {
    return position < promptTokens() ? spec.prompt[position] : output[position - promptTokens()];
  }
  /** Tokens that it may still add to its KV once what is there is computed. */
  int32_t left() const { return spec.maxNewTokens - static_cast<int32_t>(output.size()) - inFlight.outputs; }
  /** All it may produce is being sampled: its end comes when that is booked. */
  bool isEnding() const { return !spec.score && left() <= 0; }
  /**
   * May not be scheduled until the caller grants credits; or it was parked, and a step that it was in is not booked:
   * what that gives is not known yet.
   */
  bool isPaused() const {
    return (!spec.score && credits <= inFlight.outputs) || (!running && inFlight.tokens > 0);
  }
  /** Its prompt is being computed, and its samples share the block that the next token would be written into. */
  bool isAboutToFork() const { return !samples.empty() && inFlight.outputs > 0; }
  bool hasPenalty() const;
  /** Entries that the sampler holds of it: distinct tokens seen, and biases. */
  int64_t samplingEntries() const {
    const size_t seen = history ? history->counts().size() + (inFlight.outputs > 0 ? 1 : 0) : 0;
    return static_cast<int64_t>(seen + spec.biases.size());
  }
  /** Makes history and logits. Throws kOutOfMemory when the host has no room for the logits. */
  void prepare(int32_t vocabulary);
};

/** Blocks that prompt and all new tokens of a request fill. */
int64_t blocksOf(const RequestSpec& spec, int32_t blockSize);

/** What a model and its KV pool can take. */
struct RequestLimits {
  int32_t vocabulary = 0, sampledVocabulary = 0, contextLength = 0, blockSize = 0;
  int64_t poolBlocks = 0;
};

/** Most samples of one prompt. */
constexpr int32_t kMaxSamples = 256;
/** Most biases one request may carry; the upload buffer of a step is sized by it. */
constexpr int32_t kMaxBiases = 1024;
/** Most alternatives reported a token (ops/sampling.h). */
constexpr int32_t kMaxTopLogprobs = 20;

/** Throws kInvalidArgument, kContextExceeded or kRequestTooLarge naming the first value out of range. */
void validateRequest(const RequestSpec& spec, const RequestLimits& limits);

}  // namespace octavo
