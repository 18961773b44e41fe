#include "binding/engine_object.h"

#include <new>

#include "base/error.h"
#include "binding/audit_results.h"
#include "binding/engine_arguments.h"
#include "binding/engine_call.h"
#include "binding/engine_results.h"
#include "binding/host_results.h"
#include "binding/plan_results.h"
#include "binding/session_values.h"
#include "binding/trace_values.h"
#include "binding/tuning_values.h"

namespace octavo {

namespace {

constexpr napi_type_tag kEngineTag = {0x6f637461766f4e61, 0x9d3c1b5e7a40428f};

/** The handle of `this`; throws kInvalidArgument when `this` is no NativeEngine. */
std::shared_ptr<EngineHandle> unwrap(const Napi::CallbackInfo& info) {
  bool ours = false;
  void* wrapped = nullptr;
  const bool tagged = napi_check_object_type_tag(info.Env(), info.This(), &kEngineTag, &ours) == napi_ok && ours;
  if (!tagged || napi_unwrap(info.Env(), info.This(), &wrapped) != napi_ok) {
    throw Error(ErrorCode::kInvalidArgument, "a method of NativeEngine was called on something else; call it on an "
                                             "engine that loadEngine gave");
  }
  return *static_cast<std::shared_ptr<EngineHandle>*>(wrapped);
}

Napi::Value createSession(EngineHandle& handle, const Napi::CallbackInfo& info) {
  const SessionId session = handle.engine().createSession(readSession(info[0]));
  return Napi::Number::New(info.Env(), static_cast<double>(session));
}

Napi::Value forkSession(EngineHandle& handle, const Napi::CallbackInfo& info) {
  const SessionId forked = handle.engine().forkSession(readId(info[0], "session"));
  return Napi::Number::New(info.Env(), static_cast<double>(forked));
}

Napi::Value heartbeat(EngineHandle& handle, const Napi::CallbackInfo& info) {
  handle.engine().heartbeat(readId(info[0], "session"));
  return info.Env().Undefined();
}

Napi::Value sessions(EngineHandle& handle, const Napi::CallbackInfo& info) {
  Napi::Array made = Napi::Array::New(info.Env());
  for (const SessionInfo& session : handle.engine().sessions()) {
    made.Set(made.Length(), makeSessionInfo(info.Env(), session));
  }
  return made;
}

/** advanceClock(milliseconds) of an engine loaded with `testing.fakeClock`. */
Napi::Value advanceClock(EngineHandle& handle, const Napi::CallbackInfo& info) {
  handle.engine().advanceClock(int64_t{readCount(info[0], "milliseconds")} * 1000000);
  return info.Env().Undefined();
}

/** plantViolation(kind, session, other) of an engine loaded with `testing.mayPlant`. */
Napi::Value plantViolation(EngineHandle& handle, const Napi::CallbackInfo& info) {
  const std::string kind = info[0].ToString();
  handle.engine().plantViolation(kind, readId(info[1], "session"), readId(info[2], "other"));
  return info.Env().Undefined();
}

Napi::Value disposeSession(EngineHandle& handle, const Napi::CallbackInfo& info) {
  return handle.disposeSession(readId(info[0], "session"));
}

Napi::Value compact(EngineHandle& handle, const Napi::CallbackInfo&) { return handle.compact(); }

Napi::Value clearPrefixCache(EngineHandle& handle, const Napi::CallbackInfo& info) {
  handle.engine().clearPrefixCache();
  return info.Env().Undefined();
}

Napi::Value submit(EngineHandle& handle, const Napi::CallbackInfo& info) {
  const SessionId session = readId(info[0], "session");
  RequestSpec spec = readRequest(info[1]);
  const int32_t samples = spec.samples;
  const RequestId request = handle.engine().submit(session, std::move(spec));
  for (int32_t sample = 0; sample < samples; ++sample) handle.requestStarted();
  return Napi::Number::New(info.Env(), static_cast<double>(request));
}

Napi::Value cancel(EngineHandle& handle, const Napi::CallbackInfo& info) {
  handle.engine().cancel(readId(info[0], "request"));
  return info.Env().Undefined();
}

Napi::Value grant(EngineHandle& handle, const Napi::CallbackInfo& info) {
  handle.engine().grant(readId(info[0], "request"), readCount(info[1], "tokens"));
  return info.Env().Undefined();
}

Napi::Value report(EngineHandle& handle, const Napi::CallbackInfo& info) {
  Napi::Object made = makeReport(info.Env(), handle.engine().report());
  made.Set("host", makeHost(info.Env(), handle.engine().host()));
  return made;
}

Napi::Value pollHost(EngineHandle& handle, const Napi::CallbackInfo& info) {
  handle.engine().pollHost();
  return info.Env().Undefined();
}

Napi::Value audit(EngineHandle& handle, const Napi::CallbackInfo& info) {
  return makeAudit(info.Env(), handle.engine().audit());
}

Napi::Value plan(EngineHandle& handle, const Napi::CallbackInfo& info) {
  return makePlan(info.Env(), handle.engine().plan(), readDemand(info[0]));
}

Napi::Value snapshot(EngineHandle& handle, const Napi::CallbackInfo& info) {
  Napi::Object made = makeSnapshot(info.Env(), handle.engine().snapshot());
  made.Get("report").As<Napi::Object>().Set("host", makeHost(info.Env(), handle.engine().host()));
  return made;
}

Napi::Value graphs(EngineHandle& handle, const Napi::CallbackInfo& info) {
  return makeGraphs(info.Env(), handle.engine().graphs());
}

Napi::Value tuning(EngineHandle& handle, const Napi::CallbackInfo& info) {
  return makeTuning(info.Env(), handle.engine().tuning());
}

Napi::Value setTraceLevel(EngineHandle& handle, const Napi::CallbackInfo& info) {
  handle.engine().setTraceLevel(readTraceLevel(info[0]));
  return info.Env().Undefined();
}

Napi::Value traceSpill(EngineHandle& handle, const Napi::CallbackInfo& info) {
  return makeSpill(info.Env(), handle.engine().traceSpill());
}

Napi::Value leaks(EngineHandle& handle, const Napi::CallbackInfo& info) {
  return makeLeaks(info.Env(), handle.engine().leaks());
}

Napi::Value check(EngineHandle& handle, const Napi::CallbackInfo& info) {
  handle.engine().check();
  return info.Env().Undefined();
}

Napi::Value dispose(EngineHandle& handle, const Napi::CallbackInfo& info) {
  handle.dispose();
  return info.Env().Undefined();
}

Napi::Value disposeAsync(EngineHandle& handle, const Napi::CallbackInfo&) { return handle.disposeAsync(); }

template <Napi::Value (*body)(EngineHandle&, const Napi::CallbackInfo&)>
napi_value call(napi_env env, napi_callback_info raw) {
  return guardedCall(env, [&]() -> napi_value {
    const Napi::CallbackInfo info(env, raw);
    const std::shared_ptr<EngineHandle> handle = unwrap(info);
    return body(*handle, info);
  });
}

/** `new NativeEngine(external)`: nobody else has an external to give. */
napi_value construct(napi_env env, napi_callback_info raw) {
  return guardedCall(env, [&]() -> napi_value {
    const Napi::CallbackInfo info(env, raw);
    if (!info.IsConstructCall() || !info[0].IsExternal()) {
      throw Error(ErrorCode::kInvalidArgument, "NativeEngine cannot be constructed; use loadEngine");
    }
    return info.This();
  });
}

napi_property_descriptor method(const char* name, napi_callback callback) {
  return {name, nullptr, callback, nullptr, nullptr, nullptr, napi_default_method, nullptr};
}

napi_property_descriptor constant(const char* name, napi_value value, napi_property_attributes attributes) {
  return {name, nullptr, nullptr, nullptr, nullptr, value, attributes, nullptr};
}

void finalize(napi_env, void* wrapped, void*) {
  auto* const handle = static_cast<std::shared_ptr<EngineHandle>*>(wrapped);
  (*handle)->abandon();
  delete handle;
}

}  // namespace

Napi::Function defineEngineClass(Napi::Env env) {
  const napi_property_descriptor methods[] = {
      method("createSession", call<createSession>), method("disposeSession", call<disposeSession>),
      method("forkSession", call<forkSession>),       method("clearPrefixCache", call<clearPrefixCache>),
      method("heartbeat", call<heartbeat>),         method("sessions", call<sessions>),
      method("advanceClock", call<advanceClock>),   method("plantViolation", call<plantViolation>),
      method("compact", call<compact>),             method("submit", call<submit>),
      method("cancel", call<cancel>),               method("grant", call<grant>),
      method("graphs", call<graphs>),               method("report", call<report>),
      method("tuning", call<tuning>),
      method("plan", call<plan>),                   method("check", call<check>),
      method("audit", call<audit>),                 method("pollHost", call<pollHost>),
      method("snapshot", call<snapshot>),           method("setTraceLevel", call<setTraceLevel>),
      method("traceSpill", call<traceSpill>),       method("leaks", call<leaks>),
      method("dispose", call<dispose>),             method("disposeAsync", call<disposeAsync>)};
  napi_value constructor = nullptr;
  const napi_status status = napi_define_class(env, "NativeEngine", NAPI_AUTO_LENGTH, construct, nullptr,
                                               std::size(methods), methods, &constructor);
  if (status != napi_ok) throw Napi::Error::New(env);
  return {env, constructor};
}

bool makeEngineObject(napi_env env, EngineModule& module, std::shared_ptr<EngineHandle> handle,
                      napi_value onEvents, napi_value* made) {
  napi_value token = nullptr;
  napi_value deviceId = nullptr;
  const std::string& device = handle->deviceId();
  const bool built = napi_create_external(env, nullptr, nullptr, nullptr, &token) == napi_ok &&
                     napi_new_instance(env, module.constructor.Value(), 1, &token, made) == napi_ok &&
                     napi_create_string_utf8(env, device.data(), device.size(), &deviceId) == napi_ok;
  if (!built) return false;
  const napi_property_descriptor properties[] = {constant("deviceId", deviceId, napi_enumerable),
                                                 constant(kEventsProperty, onEvents, napi_default)};
  if (napi_define_properties(env, *made, std::size(properties), properties) != napi_ok) return false;
  if (napi_type_tag_object(env, *made, &kEngineTag) != napi_ok) return false;
  auto* const wrapped = new std::shared_ptr<EngineHandle>(std::move(handle));
  if (napi_wrap(env, *made, wrapped, finalize, nullptr, nullptr) == napi_ok) return true;
  delete wrapped;
  return false;
}

}  // namespace octavo
