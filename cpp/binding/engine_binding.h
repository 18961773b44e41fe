// `loadEngine` and the class NativeEngine.
#pragma once

#include <napi.h>

namespace octavo {

/** Adds `loadEngine` to the exports and the count of live engines to AddonData. Once an environment. */
void initEngine(Napi::Env env, Napi::Object exports);

}  // namespace octavo
