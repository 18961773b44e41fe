#include "binding/prefix_values.h"

namespace octavo {

namespace {

constexpr int64_t kMostMilliseconds = 365LL * 24 * 3600 * 1000;
constexpr int64_t kNanoseconds = 1000000;  // a millisecond

}  // namespace

PrefixOptions readPrefix(const Fields& prefix) {
  PrefixOptions read;
  read.enabled = true;
  const std::string eviction = prefix.text("eviction");
  if (eviction != "lru-2" && eviction != "lru") prefix.refuse("eviction", "'lru-2' or 'lru'");
  read.eviction = eviction == "lru" ? PrefixEviction::kLru : PrefixEviction::kLru2;
  read.share = prefix.number("share", 0, 1);
  read.retention = prefix.integer("retentionMs", 0, kMostMilliseconds) * kNanoseconds;
  read.correlatedUses = prefix.integer("correlatedUses", 0, kMostMilliseconds);
  return read;
}

Napi::Object makePrefix(Napi::Env env, const PrefixReport& report) {
  Napi::Object made = Napi::Object::New(env);
  const auto set = [&made](const char* name, auto value) { made.Set(name, static_cast<double>(value)); };
  made.Set("enabled", report.enabled);
  set("blocks", report.blocks);
  set("cached", report.cached);
  set("shared", report.shared);
  set("history", report.history);
  set("queries", report.queries);
  set("queryTokens", report.queryTokens);
  set("sessionTokens", report.sessionTokens);
  set("hitTokens", report.hitTokens);
  set("evicted", report.evicted);
  set("merged", report.merged);
  set("copied", report.copied);
  return made;
}

}  // namespace octavo
