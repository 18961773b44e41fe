// How long an allocation and its free take, by whom.
#pragma once

#include <napi.h>

namespace octavo::testing {

/** Adds `allocationCosts`; see test/helpers/memory-testing.ts. */
void defineAllocationBench(Napi::Env env, Napi::Object testing);

}  // namespace octavo::testing
