// Llama-3.1-8B as the engine takes it: a shape, and weights that nobody reads.
#pragma once

#include "model/model_spec.h"
#include "model/weights.h"

namespace octavo::bench {

ModelSpec llama8B();
WeightManifest dummyWeights(const ModelSpec& spec);

}  // namespace octavo::bench
