// A PromptPace, told of steps that nobody takes.
#pragma once

#include <memory>

#include "binding/testing/handle.h"
#include "engine/prompt_pace.h"

namespace octavo::testing {

/** `new Pace(leastTokens, mostTokens)`: `stepped(prompts, nanoseconds)`, `tokens(decoding, waiting)`. */
class PaceHandle final : public Handle<PaceHandle> {
 public:
  static Napi::Function define(Napi::Env env);
  explicit PaceHandle(const Napi::CallbackInfo& info);

  Napi::Value stepped(const Napi::CallbackInfo& info);
  Napi::Value tokens(const Napi::CallbackInfo& info);

 private:
  std::unique_ptr<PromptPace> pace_;
};

}  // namespace octavo::testing
