// How large a batch may be: by the KV memory there is, and by the time that its steps take. Pure.
#pragma once

#include <cstdint>
#include <limits>

namespace octavo {

/** What the next step may hold at most. */
struct BatchSize {
  int32_t sequences = 0;  // running at once; never below 1
  int32_t tokens = 0;     // of a step that has decodes; these are never left out
  int32_t promptTokens = std::numeric_limits<int32_t>::max();  // among these (PromptPace)
};

/** What the plan says. */
struct BatchSizing {
  int32_t maxSequences = 0, maxTokens = 0;
  int32_t blockSize = 0;
  int64_t tokenBytes = 0;        // of KV
  int64_t targetNanoseconds = 0; // of a step in which somebody decodes; 0: any time will do
};

struct BatchReport {
  BatchSize size;                // now
  int32_t memorySequences = 0;   // that KV memory has room for, as far as is foreseen, smoothed
  int32_t expectedTokens = 0;    // that a sequence comes to hold
  uint64_t lowered = 0, raised = 0;  // times that the target changed `tokens`
  uint64_t late = 0;             // steps over the target
};

/**
 * Memory: min(maxSequences, floor(available / (tokenBytes · tokens a sequence comes to hold))). That length is
 * foreseen: the mean of those that ended (each new one counts 1/16), or what those who run and wait have now, if that
 * is more.
 *
 * Time: two steps in a row over the target lower the tokens, to what would have been on time, by an eighth at least
 * and a half at most. Eight in a row after which an eighth more would still take 90 % of the target, were all the time
 * the tokens', raise them by that eighth. What lies between changes nothing: where a step takes a fixed time and one a
 * token, and varies by less than 5 %, a raise is never taken back. A lowering must show before the next one, in a step
 * within it. Where half the tokens are gone and gained less than a quarter of their share, the time is not theirs, and
 * nothing is lowered until a step was on time, or takes an eighth longer.
 *
 * Both fall at once and rise slowly.
 */
class BatchSizer {
 public:
  static constexpr int32_t kLateSteps = 2, kGoodSteps = 8, kGrain = 8;

  explicit BatchSizer(const BatchSizing& sizing);

  /** A request ended with so many tokens, of prompt and output. */
  void ended(int64_t tokens);
  /** Before a step: bytes of KV there are in all, and how many tokens those who run and wait have, together. */
  void look(int64_t availableBytes, int64_t tokens, int64_t requests);
  /** A step with decodes took so long. */
  void stepped(int32_t tokens, int64_t nanoseconds);

  /** `byMemory`: what is foreseen counts too, as where nothing else keeps memory for those that run. */
  BatchSize size(bool byMemory) const;
  BatchReport report(bool byMemory) const;

 private:
  void lower(int32_t tokens, int64_t nanoseconds);
  bool mayHelp(int32_t tokens, int64_t nanoseconds) const;

  BatchSizing sizing_;
  int64_t endedTokens_ = 0;      // mean, times 16
  int32_t expected_ = 0;
  int32_t memory_;               // sequences
  int32_t tokens_;
  int32_t roomier_ = 0, late_ = 0, good_ = 0;  // steps in a row
  int32_t loweredAt_ = 0;        // tokens of the step from which on lowering is judged, and its time; 0: none
  int64_t loweredTime_ = 0;
  BatchReport report_;
};

}  // namespace octavo
