// The prefix cache's options and figures as JS values.
#pragma once

#include <napi.h>

#include "binding/arguments.h"
#include "kv/prefix_cache.h"

namespace octavo {

/** NativePrefixOptions of lib/native.ts; throws kInvalidArgument. */
PrefixOptions readPrefix(const Fields& prefix);

/** NativePrefixReport. */
Napi::Object makePrefix(Napi::Env env, const PrefixReport& report);

}  // namespace octavo
