// Device and memory facts as JavaScript objects, field by field as lib/native.ts names them.
#pragma once

#include <napi.h>

#include "device/device.h"
#include "memory/ledger.h"

namespace octavo {

Napi::Object toValue(Napi::Env env, const DeviceInfo& info);
Napi::Object toValue(Napi::Env env, const DeviceMemoryUse& use);
Napi::Object toValue(Napi::Env env, const LedgerLine& line);

}  // namespace octavo
