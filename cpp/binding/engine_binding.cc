#include "binding/engine_binding.h"

#include "binding/addon_data.h"
#include "binding/engine_handle.h"
#include "binding/engine_object.h"
#include "binding/errors.h"
#include "binding/plan_results.h"

namespace octavo {

namespace {

/** loadEngine(NativeLoad): `{ promise, cancel }`. Arguments are checked here, everything else off-thread. */
Napi::Value loadEngine(const Napi::CallbackInfo& info, const std::shared_ptr<EngineModule>& module) {
  const Napi::Env env = info.Env();
  LoadArguments arguments = readLoad(info[0]);
  const Napi::Function onProgress = readFunction(info[0], "onProgress");
  const Napi::Function onEvents = readFunction(info[0], "onEvents");
  const auto handle = std::make_shared<EngineHandle>(env, module);
  Napi::Object loading = Napi::Object::New(env);
  loading.Set("promise", handle->load(std::move(arguments), onProgress, onEvents));
  const auto cancel = [handle](const Napi::CallbackInfo&) { handle->cancelLoad(); };
  loading.Set("cancel", Napi::Function::New(env, cancel, "cancel"));
  return loading;
}

/** planMemory(NativePlanRequest): NativePlan. Opens the device to ask it, unless its memory is stated. */
Napi::Value planFor(const Napi::CallbackInfo& info) {
  const PlanArguments arguments = readPlanRequest(info[0]);
  arguments.spec.validate();
  const PlanTarget target =
      arguments.stated ? *arguments.stated : PlanTarget::of(*openDevice(arguments.device, 1));
  const MemoryPlan plan = planMemory(target, arguments.spec, arguments.manifest, arguments.options);
  return makePlan(info.Env(), plan, arguments.demand);
}

}  // namespace

void initEngine(Napi::Env env, Napi::Object exports) {
  const auto module = std::make_shared<EngineModule>();
  module->constructor = Napi::Persistent(defineEngineClass(env));
  module->constructor.SuppressDestruct();  // the environment frees it
  AddonData& data = AddonData::of(env);
  module->objects = data.objects;
  data.engines = module;
  data.liveEngines = [module] { return static_cast<int>(module->live); };
  const auto load = [module](const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&] { return loadEngine(info, module); });
  };
  const auto plan = [](const Napi::CallbackInfo& info) { return guarded(info.Env(), [&] { return planFor(info); }); };
  exports.Set("planMemory", Napi::Function::New(env, plan, "planMemory"));
  exports.Set("loadEngine", Napi::Function::New(env, load, "loadEngine"));
}

}  // namespace octavo
