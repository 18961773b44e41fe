// NativeLoad and NativeRequest (lib/native.ts) as C++ structures: every field checked, every refusal names it.
#pragma once

#include <napi.h>

#include <string>

#include "binding/arguments.h"
#include "engine/memory_plan.h"

namespace octavo {

/** NativeLoad without its callbacks. */
struct LoadArguments {
  std::string device;
  int32_t threads = 0;
  ModelSpec spec;
  WeightManifest manifest;
  EngineOptions options;
};

/** NativePlanRequest: what to plan, and for which memory. */
struct PlanArguments {
  ModelSpec spec;
  WeightManifest manifest;
  EngineOptions options;
  std::string device;
  std::optional<PlanTarget> stated;  // absent: the device is here, to be asked
  PlanDemand demand;
};

/** All throw kInvalidArgument naming the field, what it is and what it must be. */
LoadArguments readLoad(const Napi::Value& load);
PlanArguments readPlanRequest(const Napi::Value& request);
PlanDemand readDemand(const Napi::Value& demand);
RequestSpec readRequest(const Napi::Value& request);
TraceOptions readTrace(const Fields& trace);
int readTraceLevel(const Napi::Value& value);
/** A session or request id. */
uint64_t readId(const Napi::Value& value, const char* name);
/** A whole number from 1. */
int32_t readCount(const Napi::Value& value, const char* name);
Napi::Function readFunction(const Napi::Value& load, const char* name);

}  // namespace octavo
