// A BatchSizer, told of steps that nobody takes.
#pragma once

#include <memory>

#include "binding/testing/handle.h"
#include "engine/batch_sizer.h"

namespace octavo::testing {

/** `new Sizer(sizing)`; see test/unit/engine/batch-sizer.test.ts for the methods. */
class SizerHandle final : public Handle<SizerHandle> {
 public:
  static Napi::Function define(Napi::Env env);
  explicit SizerHandle(const Napi::CallbackInfo& info);

  Napi::Value ended(const Napi::CallbackInfo& info);
  Napi::Value look(const Napi::CallbackInfo& info);
  Napi::Value stepped(const Napi::CallbackInfo& info);
  Napi::Value report(const Napi::CallbackInfo& info);

 private:
  std::unique_ptr<BatchSizer> sizer_;
};

}  // namespace octavo::testing
