// Functions over specs, manifests and batches that hold nothing.
#pragma once

#include <vector>

#include "binding/arguments.h"
#include "model/batch.h"

namespace octavo::testing {

void defineModelCalls(Napi::Env env, Napi::Object testing);

BatchLimits readLimits(const Fields& limits);

/** Sequences with the tokens and the block tables they point to. */
struct SequenceList {
  std::vector<std::vector<int32_t>> tokens;
  std::vector<std::vector<BlockId>> tables;
  std::vector<BatchSequence> sequences;
};
SequenceList readSequences(Napi::Value list);

}  // namespace octavo::testing
