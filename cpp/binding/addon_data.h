// What one environment (a thread of JavaScript) holds of the addon. Destroyed with the environment.
#pragma once

#include <napi.h>

#include <functional>
#include <memory>

#include "binding/device_objects.h"
#include "binding/ops_table.h"

namespace octavo {

struct AddonData {
  /** Of every device that was opened here. */
  std::shared_ptr<DeviceObjects> objects = std::make_shared<DeviceObjects>();
  OpsTable ops{objects};
  /** The engine binding's own state and its count of live engines; set by initEngine. */
  std::shared_ptr<void> engines;
  std::function<int()> liveEngines;

  static AddonData& of(Napi::Env env) { return *env.GetInstanceData<AddonData>(); }
};

}  // namespace octavo
