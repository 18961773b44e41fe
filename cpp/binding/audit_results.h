// An audit as the JS value NativeAudit of lib/native.ts.
#pragma once

#include <napi.h>

#include "engine/audit.h"

namespace octavo {

Napi::Object makeAudit(Napi::Env env, const MemoryAudit& audit);

}  // namespace octavo
