// What models and callers add to softmax(q·k·scale)·v.
#pragma once

#include <cstdint>

#include "ops/kv_cache_view.h"

namespace octavo {

struct AttentionVariant {
  /** A query sees its last `window` keys, itself included; 0: all. */
  int32_t window = 0;
  /** Scores become softCap · tanh(score / softCap) before the softmax (Gemma 2); 0: they stay. */
  float softCap = 0;
  /** fp32 [heads] in device memory, or absent: a score a head that takes its share and has no value (gpt-oss). */
  const float* sinks = nullptr;
  /**
   * fp32 [tokens, heads] in device memory, or absent: becomes the natural logarithm of the sum of e^score, the sink's
   * included. Parts of a context attended one by one are then one: Σ out · e^lse / Σ e^lse.
   */
  float* logSumExp = nullptr;
  /** Of a layer whose cache scales per tensor. */
  float keyScale = 1, valueScale = 1;

  /** Nothing but the window. */
  bool isPlain() const {
    return softCap == 0 && sinks == nullptr && logSumExp == nullptr && keyScale == 1 && valueScale == 1;
  }
};

}  // namespace octavo
