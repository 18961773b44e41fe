// What one step computes: chosen by the scheduler, carried out by the runner, booked by the engine.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/events.h"

namespace octavo {

struct Request;

enum class LogitsWanted : uint8_t { kLast, kNone, kEvery };

/** Tokens `start` … `start + count` of a request's sequence. */
struct PlannedSequence {
  RequestId request = 0;
  Request* owner = nullptr;  // that request; null once it has ended
  int32_t start = 0, count = 0;
  LogitsWanted logits = LogitsWanted::kNone;
};

struct StepPlan {
  uint64_t step = 0;
  int64_t began = 0;  // when it was planned, by the engine's clock
  /** Those to be sampled first (their logits are the first rows), then those without logits, then scored ones. */
  std::vector<PlannedSequence> sequences;
  int32_t tokens = 0;   // of all of them
  int32_t sampled = 0;  // how many are kLast
  int32_t decodes = 0;  // how many had one token to compute
  /** Could run, but the pool had no block although promised: a bug unless blocks are in flight or it has shrunk. */
  std::vector<RequestId> starved;
  /** Cannot run even alone since the pool has shrunk. */
  std::vector<RequestId> refused;
};

}  // namespace octavo
