// A Ledger by itself, its lines by number.
#pragma once

#include <map>

#include "binding/testing/handle.h"
#include "memory/ledger.h"

namespace octavo::testing {

/** `new Ledger()`; see test/helpers/memory-testing.ts for the methods. */
class LedgerHandle final : public Handle<LedgerHandle> {
 public:
  static Napi::Function define(Napi::Env env);
  explicit LedgerHandle(const Napi::CallbackInfo& info) : Handle(info) {}

  Napi::Value line(const Napi::CallbackInfo& info);
  Napi::Value release(const Napi::CallbackInfo& info);
  Napi::Value add(const Napi::CallbackInfo& info);
  Napi::Value remove(const Napi::CallbackInfo& info);
  Napi::Value transfer(const Napi::CallbackInfo& info);
  Napi::Value handOut(const Napi::CallbackInfo& info);
  Napi::Value handBack(const Napi::CallbackInfo& info);
  Napi::Value addNamed(const Napi::CallbackInfo& info);
  Napi::Value removeNamed(const Napi::CallbackInfo& info);
  Napi::Value transferNamed(const Napi::CallbackInfo& info);
  Napi::Value hammer(const Napi::CallbackInfo& info);
  Napi::Value lines(const Napi::CallbackInfo& info);
  Napi::Value regionBytes(const Napi::CallbackInfo& info);
  Napi::Value check(const Napi::CallbackInfo& info);

 private:
  LineHandle& at(Napi::Value number);
  Napi::Value keep(Napi::Env env, LineHandle line);

  Ledger ledger_;
  std::map<uint32_t, LineHandle> held_;
  uint32_t next_ = 1;
};

}  // namespace octavo::testing
