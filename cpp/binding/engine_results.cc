#include "binding/engine_results.h"

#include "binding/device_values.h"
#include "binding/memory_values.h"

namespace octavo {

namespace {

Napi::Object makeRegion(Napi::Env env, Region region, const RegionStatistics& statistics,
                        const MemoryStatistics& memory) {
  Napi::Object made = Napi::Object::New(env);
  made.Set("region", regionName(region));
  made.Set("limitBytes", static_cast<double>(statistics.limitBytes));
  made.Set("allocatedBytes", static_cast<double>(statistics.allocatedBytes));
  made.Set("allocatedPeakBytes", static_cast<double>(statistics.allocatedPeakBytes));
  made.Set("allocations", static_cast<double>(statistics.allocations));
  made.Set("frees", static_cast<double>(statistics.frees));
  made.Set("failures", static_cast<double>(statistics.failures));
  made.Set("statistics", toValue(env, memory));
  made.Set("fragmentation", toValue(env, fragmentationOf(memory)));
  return made;
}

Napi::Object makeSession(Napi::Env env, const SessionReport& session) {
  Napi::Object made = Napi::Object::New(env);
  made.Set("id", static_cast<double>(session.id));
  made.Set("blocks", static_cast<double>(session.blocks));
  made.Set("bytes", static_cast<double>(session.bytes));
  made.Set("tokens", static_cast<double>(session.tokens));
  made.Set("state", session.state);
  return made;
}

}  // namespace

Napi::Object makeReport(Napi::Env env, const EngineReport& report) {
  Napi::Object made = Napi::Object::New(env);
  Napi::Array lines = Napi::Array::New(env);
  for (const LedgerLine& line : report.lines) lines.Set(lines.Length(), toValue(env, line));
  Napi::Array regions = Napi::Array::New(env);
  for (int region = 0; region < kRegionCount; ++region) {
    regions.Set(regions.Length(), makeRegion(env, static_cast<Region>(region), report.regions[region],
                                             report.statistics[region]));
  }
  Napi::Array sessions = Napi::Array::New(env);
  for (const SessionReport& session : report.sessions) sessions.Set(sessions.Length(), makeSession(env, session));
  made.Set("lines", lines);
  made.Set("regions", regions);
  made.Set("sessions", sessions);
  made.Set("driver", toValue(env, report.driver));
  made.Set("limit", static_cast<double>(report.limit));
  made.Set("contextBytes", static_cast<double>(report.contextBytes));
  made.Set("blocksTotal", static_cast<double>(report.blocksTotal));
  made.Set("blocksFree", static_cast<double>(report.blocksFree));
  made.Set("blocksInFlight", static_cast<double>(report.blocksInFlight));
  made.Set("blockBytes", static_cast<double>(report.blockBytes));
  made.Set("running", static_cast<double>(report.running));
  made.Set("waiting", static_cast<double>(report.waiting));
  made.Set("steps", static_cast<double>(report.steps));
  made.Set("hostNanoseconds", static_cast<double>(report.hostNanoseconds));
  return made;
}

}  // namespace octavo
