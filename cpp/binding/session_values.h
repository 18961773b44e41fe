// What a session is made with and how it stands, as JS values.
#pragma once

#include <napi.h>

#include "engine/engine.h"

namespace octavo {

/** NativeSessionOptions of lib/native.ts, or undefined; throws kInvalidArgument. */
SessionOptions readSession(const Napi::Value& options);
/** NativeStages: milliseconds; throws kInvalidArgument. */
StageLimits readStages(const class Fields& stages);

/** A session of NativeReport. */
Napi::Object makeSession(Napi::Env env, const SessionReport& session);
/** NativeSessionInfo. */
Napi::Object makeSessionInfo(Napi::Env env, const SessionInfo& session);

}  // namespace octavo
