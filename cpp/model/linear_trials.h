// The dense products of a decoder as something to be measured.
#pragma once

#include <vector>

#include "model/layer_products.h"
#include "ops/linear_trial.h"

namespace octavo {

/** The head: its input and its logits, of as many rows as there may be. */
struct HeadProduct {
  const LinearWeight& weight;
  Matrix x, out;
};

/**
 * One trial a shape and bucket of kTunedRows that steps of up to `tokens` tokens reach, the fewest rows first, each with
 * the most rows of its bucket that there may be. They use the activations; weights of other forms than the activations' 16
 * bits have none. `nanoseconds` is left to the caller.
 */
std::vector<LinearTrial> linearTrials(const LayerProducts& products, const std::vector<LayerWeights>& layers,
                                      const HeadProduct& head, int64_t tokens);

}  // namespace octavo
