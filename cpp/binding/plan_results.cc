#include "binding/plan_results.h"

namespace octavo {

namespace {

Napi::Value number(Napi::Env env, size_t bytes) { return Napi::Number::New(env, static_cast<double>(bytes)); }

Napi::Object makeItem(Napi::Env env, const PlanItem& item) {
  Napi::Object made = Napi::Object::New(env);
  made.Set("region", regionName(item.region));
  made.Set("tag", item.tag);
  made.Set("bytes", number(env, item.bytes));
  return made;
}

Napi::Array makeItems(Napi::Env env, const std::vector<PlanItem>& items) {
  Napi::Array made = Napi::Array::New(env);
  for (const PlanItem& item : items) made.Set(made.Length(), makeItem(env, item));
  return made;
}

Napi::Value makeMisfit(Napi::Env env, const std::optional<Misfit>& misfit) {
  if (!misfit) return env.Null();
  Napi::Object made = makeItem(env, misfit->item);
  made.Set("leftBytes", number(env, misfit->leftBytes));
  made.Set("shortBytes", number(env, misfit->item.bytes - misfit->leftBytes));
  return made;
}

Napi::Object makeKv(Napi::Env env, const MemoryPlan& plan) {
  Napi::Object made = Napi::Object::New(env);
  made.Set("dtype", dtypeName(plan.kvShape.dtype));
  made.Set("blockSize", plan.kvShape.blockSize);
  made.Set("blockBytes", number(env, plan.kvShape.blockBytes()));
  made.Set("tokenBytes", number(env, plan.kvShape.tokenBytes()));
  made.Set("blocks", number(env, plan.kvBlocks));
  made.Set("tokens", number(env, plan.kvBlocks * plan.kvShape.blockSize));
  return made;
}

Napi::Object makeSession(Napi::Env env, const MemoryPlan& plan, int32_t tokens) {
  const int64_t blocks = plan.blocksOf(tokens);
  Napi::Object made = Napi::Object::New(env);
  made.Set("context", tokens);
  made.Set("blocks", number(env, blocks));
  made.Set("bytes", number(env, blocks * plan.kvShape.blockBytes()));
  made.Set("count", number(env, plan.sessionsOf(tokens)));
  return made;
}

}  // namespace

Napi::Object makePlan(Napi::Env env, const MemoryPlan& plan, const PlanDemand& demand) {
  Napi::Object made = Napi::Object::New(env);
  const PlanTarget& target = plan.target;
  made.Set("device", target.device);
  made.Set("totalBytes", number(env, target.totalBytes));
  made.Set("freeBytes", number(env, target.freeBytes));
  made.Set("contextBytes", target.contextBytes ? number(env, *target.contextBytes) : env.Null());
  made.Set("limitBytes", number(env, plan.limitBytes));
  made.Set("pinnedLimitBytes", number(env, plan.pinnedLimitBytes));
  made.Set("roomBytes", number(env, plan.roomBytes));
  made.Set("mappedBytes", number(env, plan.mappedBytes));
  made.Set("plannedBytes", number(env, plan.deviceBytes()));
  made.Set("peakBytes", number(env, plan.devicePeakBytes()));
  made.Set("pinnedPeakBytes", number(env, plan.pinnedPeakBytes()));
  made.Set("items", makeItems(env, plan.items));
  made.Set("loading", makeItems(env, plan.loading));
  made.Set("missing", makeMisfit(env, plan.misfit(demand)));
  made.Set("dtype", dtypeName(plan.dtype));
  made.Set("maxSequences", plan.batch.maxSequences);
  made.Set("maxBatchTokens", plan.batch.maxTokens);
  made.Set("kv", makeKv(env, plan));
  made.Set("longestContext", plan.longestContext());
  made.Set("session", makeSession(env, plan, demand.contextTokens > 0 ? demand.contextTokens : plan.contextLength));
  return made;
}

}  // namespace octavo
