// What the engine thread tells its caller: tokens and terminal events.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"

namespace octavo {

using SessionId = uint64_t;
using RequestId = uint64_t;

enum class FinishReason : uint8_t { kEndOfSequence, kLength, kCancelled, kFailed };
const char* finishReasonName(FinishReason reason);  // "eos" "length" "cancelled" "failed"

struct TokenEvent {
  RequestId request = 0;
  int32_t token = 0;
  float logprob = 0;
  std::vector<std::pair<int32_t, float>> top;  // as many as the request asked for
};

/** Nanoseconds of the engine's clock; 0 when the stage was not reached. */
struct RequestTimings {
  int64_t submitted = 0, admitted = 0, firstToken = 0, finished = 0;
};

/** Exactly one a request. */
struct FinishEvent {
  RequestId request = 0;
  FinishReason reason = FinishReason::kEndOfSequence;
  ErrorCode code = ErrorCode::kInternal;   // when kFailed
  std::string message;                     // when kFailed
  int32_t promptTokens = 0, cachedTokens = 0, outputTokens = 0;
  RequestTimings timings;
  std::vector<float> logits;               // score requests: [promptTokens, vocabulary]
};

struct EngineEvents {
  std::vector<TokenEvent> tokens;    // in order of production
  std::vector<FinishEvent> finished;  // after all tokens of the same request
  bool empty() const { return tokens.empty() && finished.empty(); }
};

}  // namespace octavo
