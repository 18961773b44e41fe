// The checks of a quantised part of a manifest: every tensor of the shape and type that the others make it.
#pragma once

#include "model/checkpoint_files.h"
#include "model/stored_tensor.h"

namespace octavo {

/** `parameter` names it in messages. Throws kCheckpointMismatch, kCheckpointInvalid, kUnsupportedModel. */
void checkQuantized(const std::string& parameter, const WeightPart& part, const CheckpointFiles& files);

/** A range inside its file, of as many bytes as its shape takes. Throws kCheckpointInvalid. */
void checkRange(const std::string& parameter, const char* what, const StoredTensor& tensor,
                const CheckpointFiles& files);

}  // namespace octavo
