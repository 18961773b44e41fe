// The checks of a manifest against a spec and opened files; `validate` and `load` share them.
#pragma once

#include "model/checkpoint_files.h"
#include "model/weights.h"

namespace octavo {

/** Throws kCheckpointMismatch, kCheckpointInvalid, kUnsupportedModel naming parameter and file. */
void checkManifest(const ModelSpec& spec, const WeightManifest& manifest, const CheckpointFiles& files);

/** `[960, 576]` */
std::string shapeText(const std::vector<int64_t>& shape);

}  // namespace octavo
