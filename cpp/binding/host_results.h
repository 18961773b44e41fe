// The host's memory as the JS value NativeHost of lib/native.ts.
#pragma once

#include <napi.h>

#include "engine/host_watch.h"

namespace octavo {

Napi::Object makeHost(Napi::Env env, const HostReport& report);

}  // namespace octavo
