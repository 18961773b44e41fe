#include "binding/testing/pace_handle.h"

namespace octavo::testing {

Napi::Function PaceHandle::define(Napi::Env env) {
  using P = PaceHandle;
  return DefineClass(env, "Pace", {method<&P::stepped>("stepped"), method<&P::tokens>("tokens")});
}

PaceHandle::PaceHandle(const Napi::CallbackInfo& info) : Handle(info) {
  pace_ = std::make_unique<PromptPace>(info[0].ToNumber().Int32Value(), info[1].ToNumber().Int32Value());
}

Napi::Value PaceHandle::stepped(const Napi::CallbackInfo& info) {
  pace_->stepped(info[0].ToNumber().Int32Value(), info[1].ToNumber().Int64Value());
  return info.Env().Undefined();
}

Napi::Value PaceHandle::tokens(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), pace_->tokens(info[0].ToNumber().Int64Value(), info[1].ToNumber().Int64Value()));
}

}  // namespace octavo::testing
