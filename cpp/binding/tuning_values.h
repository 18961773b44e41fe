// Tiles of dense products, what was measured of them, as the JS values of lib/native-tuning.ts.
#pragma once

#include <napi.h>

#include "binding/arguments.h"
#include "engine/tuning.h"

namespace octavo {

/** NativeTuned. Throws kInvalidArgument. */
TunedLinear readTuned(const Fields& tuned);
/** NativeTuneOptions. Throws kInvalidArgument. */
TuningOptions readTuning(const Fields& options);

Napi::Object toValue(Napi::Env env, const LinearTile& tile);
Napi::Object toValue(Napi::Env env, const TunedLinear& tuned);
/** NativeTuning. */
Napi::Object makeTuning(Napi::Env env, const TuningReport& report);

}  // namespace octavo
