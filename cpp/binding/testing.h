// `addon.testing`: the base, device, memory, kv and model floors as handles, for the property tests. Not for users.
#pragma once

#include <napi.h>

namespace octavo {

void initTesting(Napi::Env env, Napi::Object exports);

}  // namespace octavo
