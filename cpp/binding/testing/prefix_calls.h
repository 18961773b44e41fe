// The hashes of KV blocks.
#pragma once

#include <napi.h>

namespace octavo::testing {

/** prefixHash(key, bytes) and prefixChain(key, from): see test/helpers/prefix-testing.ts. */
void definePrefixCalls(Napi::Env env, Napi::Object testing);

}  // namespace octavo::testing
