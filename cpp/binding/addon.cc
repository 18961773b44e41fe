// Module initialisation: one AddonData an environment, then each part adds its functions.
#include <napi.h>

#include "binding/addon_data.h"
#include "binding/build_info.h"
#include "binding/errors.h"
#include "binding/ops_binding.h"
#include "binding/testing.h"

#if __has_include("binding/engine_binding.h")
#include "binding/engine_binding.h"
#define OCTAVO_HAS_ENGINE
#endif

namespace octavo {

namespace {

Napi::Value liveObjects(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return guarded(env, [&] {
    const AddonData& data = AddonData::of(env);
    Napi::Object counts = Napi::Object::New(env);
    counts.Set("engines", data.liveEngines ? data.liveEngines() : 0);
    counts.Set("devices", static_cast<double>(data.ops.devices()));
    counts.Set("buffers", static_cast<double>(data.ops.buffers()));
    counts.Set("streams", static_cast<double>(data.objects->count(ObjectKind::kStream)));
    counts.Set("events", static_cast<double>(data.objects->count(ObjectKind::kEvent)));
    counts.Set("graphs", static_cast<double>(data.objects->count(ObjectKind::kGraph)));
    counts.Set("pinned", static_cast<double>(data.objects->count(ObjectKind::kPinned)));
    return counts;
  });
}

Napi::Object init(Napi::Env env, Napi::Object exports) {
  env.SetInstanceData(new AddonData);
  exports.Set("version", kVersion);
  exports.Set("buildInfo", buildInfo(env));
  exports.Set("liveObjects", Napi::Function::New(env, liveObjects, "liveObjects"));
  initOps(env, exports);
  initTesting(env, exports);
#ifdef OCTAVO_HAS_ENGINE
  initEngine(env, exports);
#endif
  return exports;
}

}  // namespace

}  // namespace octavo

static Napi::Object octavoInit(Napi::Env env, Napi::Object exports) {
  return octavo::guarded(env, [&] { return octavo::init(env, exports); });
}

NODE_API_MODULE(octavo, octavoInit)
