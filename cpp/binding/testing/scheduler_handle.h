// A Scheduler over a Pool, with sessions and requests but no device: steps are booked as soon as they are planned.
#pragma once

#include <memory>
#include <unordered_map>

#include "binding/testing/handle.h"
#include "engine/scheduler.h"

namespace octavo::testing {

/** `new Scheduler(pool, options)`; see test/helpers/scheduler-testing.ts for the methods. */
class SchedulerHandle final : public Handle<SchedulerHandle> {
 public:
  static Napi::Function define(Napi::Env env);
  explicit SchedulerHandle(const Napi::CallbackInfo& info);

  Napi::Value createSession(const Napi::CallbackInfo& info);
  Napi::Value forkSession(const Napi::CallbackInfo& info);
  Napi::Value disposeSession(const Napi::CallbackInfo& info);
  Napi::Value submit(const Napi::CallbackInfo& info);
  Napi::Value cancel(const Napi::CallbackInfo& info);
  Napi::Value grant(const Napi::CallbackInfo& info);
  Napi::Value step(const Napi::CallbackInfo& info);
  Napi::Value clearPrefixCache(const Napi::CallbackInfo& info);
  Napi::Value compact(const Napi::CallbackInfo& info);
  Napi::Value state(const Napi::CallbackInfo& info);
  Napi::Value check(const Napi::CallbackInfo& info);

 private:
  Session& session(const Napi::Value& id);
  void book(const StepPlan& plan, Napi::Array finished);
  void finish(Request& request);

  Napi::ObjectReference poolObject_;  // the pool outlives the sessions
  BlockPool* pool_ = nullptr;
  FakeClock clock_;
  std::unique_ptr<SessionTable> sessions_;
  std::unique_ptr<Scheduler> scheduler_;
  std::unordered_map<RequestId, std::unique_ptr<Request>> requests_;
  RequestId lastRequest_ = 0;
  uint64_t step_ = 0;
};

}  // namespace octavo::testing
