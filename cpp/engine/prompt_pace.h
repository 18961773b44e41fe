// How many tokens of prompts are computed beside those who decode. Pure.
#pragma once

#include <cstdint>

namespace octavo {

/**
 * A step that computes prompts too may take 1.8 times as long as one of decodes alone: so nobody's tokens come at much
 * less than half their pace because somebody else sends a long text, and the prompts cost little, as decodes wait for
 * memory and prompts for products. Where a prompt waits for every four decodes or fewer there is no such limit: a burst
 * is over sooner for all, and the many are not kept waiting for the few.
 *
 * What decodes alone take is a running mean (each new step counts 1/8). It is measured when it is not known, and anew
 * when 64 steps in a row had prompts: that step has none. A step that took longer than it might lowers the tokens at
 * once to what would have been on time; one that was full and had a tenth of its time left raises them, by an eighth at
 * most.
 */
class PromptPace {
 public:
  static constexpr int32_t kFirstTokens = 256, kStaleSteps = 64;

  /** `leastTokens`: a block, so that every prompt goes on. */
  PromptPace(int32_t leastTokens, int32_t mostTokens);

  /** A step with decodes took so long; `prompts`: its tokens besides. */
  void stepped(int32_t prompts, int64_t nanoseconds);

  /**
   * Of prompts, in the next step that has decodes; so many requests decode, and so many others have a prompt to be
   * computed. 0: the step is to show what decodes take alone.
   */
  int32_t tokens(int64_t decoding, int64_t waiting) const;

 private:
  int32_t least_, most_;
  int32_t tokens_;
  int32_t mixed_ = 0;       // steps with prompts since the last one without
  bool isKnown_ = false;
  int64_t alone_ = 0;       // nanoseconds
};

}  // namespace octavo
