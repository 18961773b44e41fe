#include "binding/session_values.h"

#include "binding/arguments.h"

namespace octavo {

namespace {

constexpr int64_t kMostMilliseconds = 365LL * 24 * 3600 * 1000;
constexpr int64_t kNanoseconds = 1000000;  // a millisecond

int64_t readMilliseconds(const Fields& from, const char* name) {
  return from.has(name) ? from.integer(name, 0, kMostMilliseconds) * kNanoseconds : 0;
}

double milliseconds(int64_t nanoseconds) { return static_cast<double>(nanoseconds) / kNanoseconds; }

}  // namespace

StageLimits readStages(const Fields& stages) {
  return {readMilliseconds(stages, "queueMs"), readMilliseconds(stages, "inferenceMs"),
          readMilliseconds(stages, "postMs")};
}

SessionOptions readSession(const Napi::Value& options) {
  SessionOptions read;
  if (options.IsUndefined()) return read;
  const Fields from(options, "session");
  if (from.has("tenant")) read.tenant = from.text("tenant");
  if (from.has("quotaBase")) read.quota.base = from.size("quotaBase");
  if (from.has("quotaMax")) read.quota.max = from.size("quotaMax");
  if (from.has("stages")) read.stages = readStages(from.fields("stages"));
  read.lease.interval = readMilliseconds(from, "heartbeatMs");
  read.lease.idle = readMilliseconds(from, "idleMs");
  return read;
}

Napi::Object makeSession(Napi::Env env, const SessionReport& session) {
  Napi::Object made = Napi::Object::New(env);
  made.Set("id", static_cast<double>(session.id));
  made.Set("blocks", static_cast<double>(session.blocks));
  made.Set("blocksOfOthers", static_cast<double>(session.blocksOfOthers));
  made.Set("bytes", static_cast<double>(session.bytes));
  made.Set("tokens", static_cast<double>(session.tokens));
  made.Set("state", session.state);
  made.Set("place", static_cast<double>(session.place));
  made.Set("parent", static_cast<double>(session.parent));
  return made;
}

Napi::Object makeSessionInfo(Napi::Env env, const SessionInfo& session) {
  Napi::Object made = makeSession(env, session);
  made.Set("tenant", session.tenant);
  made.Set("ageMs", milliseconds(session.age));
  made.Set("quotaBase", static_cast<double>(session.quota.base));
  made.Set("quotaMax", static_cast<double>(session.quota.max));
  made.Set("heartbeatMs", milliseconds(session.lease.interval));
  made.Set("leaseMs", milliseconds(session.leaseLeft));
  made.Set("request", static_cast<double>(session.request));
  made.Set("requestAgeMs", milliseconds(session.requestAge));
  made.Set("stage", session.stage);
  return made;
}

}  // namespace octavo
