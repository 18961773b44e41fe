// The JS class NativeEngine: guards of `this` and of arguments, then one call.
#pragma once

#include <napi.h>

#include <memory>

#include "binding/engine_handle.h"

namespace octavo {

/** Hidden property of a NativeEngine that holds its `onEvents`. */
constexpr const char* kEventsProperty = "onEvents";

/** Defines the class of this environment; its constructor works from `makeEngineObject` alone. */
Napi::Function defineEngineClass(Napi::Env env);

/** False when the environment is ending. */
bool makeEngineObject(napi_env env, EngineModule& module, std::shared_ptr<EngineHandle> handle,
                      napi_value onEvents, napi_value* made);

}  // namespace octavo
