#include "binding/testing/sizer_handle.h"

#include "binding/arguments.h"
#include "binding/engine_results.h"

namespace octavo::testing {

namespace {

int64_t numberOf(const Napi::Value& value) { return value.As<Napi::Number>().Int64Value(); }

}  // namespace

Napi::Function SizerHandle::define(Napi::Env env) {
  using S = SizerHandle;
  return DefineClass(env, "Sizer",
                     {
                         method<&S::ended>("ended"),
                         method<&S::look>("look"),
                         method<&S::stepped>("stepped"),
                         method<&S::report>("report"),
                     });
}

/** new Sizer({ maxSequences, maxTokens, blockSize, tokenBytes, targetNanoseconds }) */
SizerHandle::SizerHandle(const Napi::CallbackInfo& info) : Handle(info) {
  guarded(info.Env(), [&] {
    const Fields sizing(info[0], "sizing");
    sizer_ = std::make_unique<BatchSizer>(
        BatchSizing{sizing.int32("maxSequences"), sizing.int32("maxTokens"), sizing.int32("blockSize"),
                    static_cast<int64_t>(sizing.size("tokenBytes")),
                    static_cast<int64_t>(sizing.size("targetNanoseconds"))});
  });
}

Napi::Value SizerHandle::ended(const Napi::CallbackInfo& info) {
  sizer_->ended(numberOf(info[0]));
  return info.Env().Undefined();
}

/** look(availableBytes, tokens, requests) */
Napi::Value SizerHandle::look(const Napi::CallbackInfo& info) {
  sizer_->look(numberOf(info[0]), numberOf(info[1]), numberOf(info[2]));
  return info.Env().Undefined();
}

/** stepped(tokens, nanoseconds) */
Napi::Value SizerHandle::stepped(const Napi::CallbackInfo& info) {
  sizer_->stepped(static_cast<int32_t>(numberOf(info[0])), numberOf(info[1]));
  return info.Env().Undefined();
}

/** report(byMemory) */
Napi::Value SizerHandle::report(const Napi::CallbackInfo& info) {
  return makeBatch(info.Env(), sizer_->report(info[0].ToBoolean()));
}

}  // namespace octavo::testing
