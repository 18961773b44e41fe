// What lib/native.ts hands in, read into C++: every field checked, every refusal names it.
#pragma once

#include <napi.h>

#include <string>

#include "engine/engine.h"

namespace octavo::binding {

/** NativeLoad without its callbacks. */
struct LoadArguments {
  std::string device;
  int threads = 0;
  ModelSpec spec;
  WeightManifest manifest;
  EngineOptions options;
};

/** All throw Error kInvalidArgument naming the field, what it holds and what it takes. */
LoadArguments readLoad(const Napi::Value& load);
RequestSpec readRequest(const Napi::Value& request);
/** A session or request id. */
uint64_t readId(const Napi::Value& value, const char* name);
int32_t readCount(const Napi::Value& value, const char* name);
Napi::Function readFunction(const Napi::Value& object, const char* name);

}  // namespace octavo::binding
