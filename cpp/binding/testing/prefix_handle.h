// A PrefixCache over a Pool, under a clock that a test moves.
#pragma once

#include <memory>

#include "binding/testing/handle.h"
#include "kv/prefix_cache.h"

namespace octavo::testing {

/** `new Prefix(pool, options)`; see test/helpers/prefix-testing.ts for the methods. */
class PrefixHandle final : public Handle<PrefixHandle> {
 public:
  static Napi::Function define(Napi::Env env);
  explicit PrefixHandle(const Napi::CallbackInfo& info);

  Napi::Value request(const Napi::CallbackInfo& info);
  Napi::Value has(const Napi::CallbackInfo& info);
  Napi::Value leave(const Napi::CallbackInfo& info);
  Napi::Value share(const Napi::CallbackInfo& info);
  Napi::Value claim(const Napi::CallbackInfo& info);
  Napi::Value evict(const Napi::CallbackInfo& info);
  Napi::Value compact(const Napi::CallbackInfo& info);
  Napi::Value advance(const Napi::CallbackInfo& info);
  Napi::Value report(const Napi::CallbackInfo& info);
  Napi::Value check(const Napi::CallbackInfo& info);

 private:
  Napi::ObjectReference poolObject_;  // the pool outlives the cache
  BlockPool* pool_ = nullptr;
  FakeClock clock_;
  std::unique_ptr<PrefixCache> cache_;
};

}  // namespace octavo::testing
