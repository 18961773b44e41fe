// The base and device floors for the unit tests: thread pools and control groups.
#pragma once

#include <napi.h>

namespace octavo::testing {

void defineHostCalls(Napi::Env env, Napi::Object testing);

}  // namespace octavo::testing
