// How fast pinned host memory reaches a device.
#pragma once

#include <napi.h>

namespace octavo::testing {

/** Adds `linkRates`; see test/helpers/memory-testing.ts. */
void defineLinkBench(Napi::Env env, Napi::Object testing);

}  // namespace octavo::testing
