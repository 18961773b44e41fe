// The memory trace as the JS values of lib/native.ts.
#pragma once

#include <napi.h>

#include "engine/engine.h"

namespace octavo {

/** NativeTrace. */
Napi::Object makeTrace(Napi::Env env, const TraceSnapshot& trace);
/** NativeSnapshot: the trace, the report and the KV blocks. */
Napi::Object makeSnapshot(Napi::Env env, const EngineSnapshot& snapshot);
/** NativeLeakReport. */
Napi::Object makeLeaks(Napi::Env env, const LeakReport& report);
/** NativeSpill. */
Napi::Object makeSpill(Napi::Env env, const SpillReport& spill);

}  // namespace octavo
