// What can be said of devices without an engine: cudaStatus, listDevices, memoryUse.
#include "binding/device_values.h"
#include "binding/errors.h"
#include "binding/arguments.h"
#include "binding/ops_binding.h"

namespace octavo {

Napi::Object toValue(Napi::Env env, const DeviceInfo& info) {
  Napi::Object value = Napi::Object::New(env);
  value.Set("id", info.id);
  value.Set("name", info.name);
  value.Set("computeMajor", info.computeMajor);
  value.Set("computeMinor", info.computeMinor);
  value.Set("multiprocessors", info.multiprocessors);
  value.Set("totalBytes", static_cast<double>(info.totalBytes));
  value.Set("driverVersion", info.driverVersion);
  return value;
}

Napi::Object toValue(Napi::Env env, const DeviceMemoryUse& use) {
  Napi::Object value = Napi::Object::New(env);
  value.Set("freeBytes", static_cast<double>(use.freeBytes));
  value.Set("totalBytes", static_cast<double>(use.totalBytes));
  if (use.processBytes) value.Set("processBytes", static_cast<double>(*use.processBytes));
  else value.Set("processBytes", env.Null());
  return value;
}

Napi::Object toValue(Napi::Env env, const LedgerLine& line) {
  Napi::Object value = Napi::Object::New(env);
  value.Set("region", regionName(line.region));
  value.Set("ownerKind", ownerKindName(line.owner.kind));
  value.Set("ownerId", static_cast<double>(line.owner.id));
  value.Set("tag", line.tag);
  value.Set("bytes", static_cast<double>(line.bytes));
  value.Set("peakBytes", static_cast<double>(line.peakBytes));
  value.Set("count", static_cast<double>(line.count));
  return value;
}

namespace {

Napi::Value status(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return guarded(env, [&] {
    const CudaStatus status = cudaStatus();
    Napi::Object value = Napi::Object::New(env);
    value.Set("built", status.built);
    value.Set("driverVersion", status.driverVersion);
    value.Set("runtimeVersion", status.runtimeVersion);
    value.Set("architectures", status.architectures);
    value.Set("problem", status.problem);
    return value;
  });
}

Napi::Value devices(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return guarded(env, [&] {
    const std::vector<DeviceInfo> found = listDevices();
    Napi::Array list = Napi::Array::New(env, found.size());
    for (size_t i = 0; i < found.size(); ++i) list.Set(static_cast<uint32_t>(i), toValue(env, found[i]));
    return list;
  });
}

Napi::Value memory(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return guarded(env, [&] {
    const Napi::Value id = info[0];
    if (!id.IsString()) refuse("the device", id, "a string");
    return toValue(env, openDevice(id.As<Napi::String>().Utf8Value(), 1)->memoryUse());
  });
}

}  // namespace

void addDeviceFunctions(Napi::Env env, Napi::Object exports) {
  exports.Set("cudaStatus", Napi::Function::New(env, status, "cudaStatus"));
  exports.Set("listDevices", Napi::Function::New(env, devices, "listDevices"));
  exports.Set("memoryUse", Napi::Function::New(env, memory, "memoryUse"));
}

}  // namespace octavo
