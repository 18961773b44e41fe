// NativeModelSpec and NativeWeightManifest (lib/native.ts) as C++ structures.
#pragma once

#include "binding/arguments.h"
#include "model/model_spec.h"
#include "model/weights.h"

namespace octavo {

/** Types and ranges of C++ alone; `validate` checks the meaning. Throws kInvalidArgument. */
ModelSpec readModelSpec(const Fields& spec);
WeightManifest readWeightManifest(const Fields& manifest);

}  // namespace octavo
