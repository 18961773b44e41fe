// A memory plan as the JS value NativePlan of lib/native.ts.
#pragma once

#include <napi.h>

#include "engine/memory_plan.h"

namespace octavo {

/** `demand.contextTokens` 0: the model's whole context is what `session` speaks of, and nothing is demanded. */
Napi::Object makePlan(Napi::Env env, const MemoryPlan& plan, const PlanDemand& demand);

}  // namespace octavo
