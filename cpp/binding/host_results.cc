#include "binding/host_results.h"

namespace octavo {

Napi::Object makeHost(Napi::Env env, const HostReport& report) {
  const auto number = [&](auto value) { return Napi::Number::New(env, static_cast<double>(value)); };
  Napi::Array events = Napi::Array::New(env);
  for (const HostEvent& event : report.events) {
    Napi::Object made = Napi::Object::New(env);
    made.Set("time", number(event.time));
    made.Set("level", pressureLevelName(event.level));
    made.Set("action", event.action);
    made.Set("freeBytes", number(event.freeBytes));
    events.Set(events.Length(), made);
  }
  const HostPressure& pressure = report.pressure;
  Napi::Object made = Napi::Object::New(env);
  made.Set("totalBytes", number(pressure.memory.totalBytes));
  made.Set("freeBytes", number(pressure.memory.freeBytes));
  made.Set("residentBytes", number(report.residentBytes));
  made.Set("someStall", number(pressure.someStall));
  made.Set("fullStall", number(pressure.fullStall));
  made.Set("highEvents", number(pressure.highEvents));
  made.Set("maxEvents", number(pressure.maxEvents));
  made.Set("oomKills", number(pressure.oomKills));
  made.Set("level", pressureLevelName(report.level));
  made.Set("events", events);
  return made;
}

}  // namespace octavo
