#include "binding/engine_results.h"

#include "binding/device_values.h"
#include "binding/memory_values.h"
#include "binding/prefix_values.h"
#include "binding/session_values.h"

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

Napi::Object makePages(Napi::Env env, const PoolPages& pages) {
  Napi::Object made = Napi::Object::New(env);
  made.Set("mapped", static_cast<double>(pages.mapped));
  made.Set("used", static_cast<double>(pages.used));
  made.Set("packed", static_cast<double>(pages.packed));
  made.Set("mappedBytes", static_cast<double>(pages.mappedBytes));
  made.Set("liveBytes", static_cast<double>(pages.liveBytes));
  made.Set("stuckBytes", static_cast<double>(pages.stuckBytes));
  return made;
}

Napi::Object makeQuarantine(Napi::Env env, const QuarantineReport& quarantine) {
  Napi::Array violations = Napi::Array::New(env);
  for (const std::string& sentence : quarantine.violations) violations.Set(violations.Length(), sentence);
  Napi::Object made = Napi::Object::New(env);
  made.Set("blocks", static_cast<double>(quarantine.blocks));
  made.Set("sessions", static_cast<double>(quarantine.sessions));
  made.Set("violations", violations);
  return made;
}

Napi::Object makeCompaction(Napi::Env env, const CompactionReport& compaction) {
  Napi::Object made = Napi::Object::New(env);
  made.Set("slices", static_cast<double>(compaction.slices));
  made.Set("moves", static_cast<double>(compaction.moves));
  made.Set("bytes", static_cast<double>(compaction.bytes));
  made.Set("pagesFreed", static_cast<double>(compaction.pagesFreed));
  made.Set("longestNanoseconds", static_cast<double>(compaction.longestNanoseconds));
  made.Set("nanoseconds", static_cast<double>(compaction.nanoseconds));
  return made;
}

Napi::Object makeEviction(Napi::Env env, const EvictionReport& eviction) {
  Napi::Object made = Napi::Object::New(env);
  made.Set("sessions", static_cast<double>(eviction.sessions));
  made.Set("blocks", static_cast<double>(eviction.blocks));
  made.Set("tokens", static_cast<double>(eviction.tokens));
  made.Set("pages", static_cast<double>(eviction.pages));
  return made;
}

Napi::Object makeStepTimes(Napi::Env env, const StepTimes& times) {
  Napi::Object made = Napi::Object::New(env);
  const auto set = [&](const char* name, HostStage stage) { made.Set(name, static_cast<double>(times.of(stage))); };
  set("plan", HostStage::kPlan);
  set("upload", HostStage::kUpload);
  set("launch", HostStage::kLaunch);
  set("wait", HostStage::kWait);
  set("book", HostStage::kBook);
  set("tell", HostStage::kTell);
  return made;
}

}  // namespace

Napi::Object makeBatch(Napi::Env env, const BatchReport& batch) {
  Napi::Object made = Napi::Object::New(env);
  made.Set("sequences", static_cast<double>(batch.size.sequences));
  made.Set("tokens", static_cast<double>(batch.size.tokens));
  made.Set("promptTokens", static_cast<double>(std::min(batch.size.tokens, batch.size.promptTokens)));
  made.Set("memorySequences", static_cast<double>(batch.memorySequences));
  made.Set("expectedTokens", static_cast<double>(batch.expectedTokens));
  made.Set("lowered", static_cast<double>(batch.lowered));
  made.Set("raised", static_cast<double>(batch.raised));
  made.Set("late", static_cast<double>(batch.late));
  return made;
}

Napi::Object makeGraphs(Napi::Env env, const GraphReport& report) {
  Napi::Array buckets = Napi::Array::New(env);
  for (const GraphBucket& bucket : report.buckets) {
    Napi::Object made = Napi::Object::New(env);
    made.Set("sequences", bucket.sequences);
    made.Set("nodes", static_cast<double>(bucket.nodes));
    made.Set("bytes", static_cast<double>(bucket.bytes));
    made.Set("replays", static_cast<double>(bucket.replays));
    made.Set("problem", bucket.problem);
    buckets.Set(buckets.Length(), made);
  }
  Napi::Object made = Napi::Object::New(env);
  made.Set("enabled", report.enabled);
  made.Set("buckets", buckets);
  made.Set("fallbacks", static_cast<double>(report.fallbacks));
  made.Set("launches", static_cast<double>(report.launches));
  made.Set("captureMs", static_cast<double>(report.captureNanoseconds) / 1e6);
  return made;
}

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
  made.Set("blocksOwned", static_cast<double>(report.blocksOwned));
  made.Set("blocksCapacity", static_cast<double>(report.blocksCapacity));
  made.Set("pages", makePages(env, report.pages));
  made.Set("quarantine", makeQuarantine(env, report.quarantine));
  made.Set("compaction", makeCompaction(env, report.compaction));
  made.Set("eviction", makeEviction(env, report.eviction));
  made.Set("prefix", makePrefix(env, report.prefix));
  made.Set("blockBytes", static_cast<double>(report.blockBytes));
  made.Set("mappedBytes", static_cast<double>(report.mappedBytes));
  made.Set("running", static_cast<double>(report.running));
  made.Set("waiting", static_cast<double>(report.waiting));
  made.Set("preemptions", static_cast<double>(report.scheduler.preemptions));
  made.Set("stalls", static_cast<double>(report.scheduler.stalls));
  made.Set("batch", makeBatch(env, report.scheduler.batch));
  made.Set("overlapped", static_cast<double>(report.scheduler.overlapped));
  made.Set("steps", static_cast<double>(report.steps));
  made.Set("stepTimes", makeStepTimes(env, report.times));
  return made;
}

}  // namespace octavo
