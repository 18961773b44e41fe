// What the engine tells, as the JS values of lib/native.ts.
#pragma once

#include <napi.h>

#include "engine/engine.h"

namespace octavo {

/** An Error with `code`; nullptr when the environment is ending. */
napi_value makeError(napi_env env, ErrorCode code, const std::string& message);

/**
 * NativeEvents. Raw Node-API, as it runs outside any JS frame: nothing is thrown; nullptr when the environment
 * is ending.
 */
napi_value makeEvents(napi_env env, EngineEvents events);

/** NativeReport. */
Napi::Object makeReport(Napi::Env env, const EngineReport& report);
Napi::Object makeBatch(Napi::Env env, const BatchReport& batch);
Napi::Object makeGraphs(Napi::Env env, const GraphReport& report);

}  // namespace octavo
