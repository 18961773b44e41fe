#include "binding/memory_values.h"

namespace octavo {

namespace {

Napi::Number number(Napi::Env env, uint64_t value) { return Napi::Number::New(env, static_cast<double>(value)); }

Napi::Object toValue(Napi::Env env, const CounterValue& counter) {
  Napi::Object value = Napi::Object::New(env);
  value.Set("current", number(env, counter.current));
  value.Set("peak", number(env, counter.peak));
  value.Set("allocated", number(env, counter.allocated));
  value.Set("freed", number(env, counter.freed()));
  return value;
}

}  // namespace

Napi::Object toValue(Napi::Env env, const MemoryStatistics& statistics) {
  Napi::Object value = Napi::Object::New(env);
  for (size_t counter = 0; counter < kCounters; ++counter) {
    Napi::Object pools = Napi::Object::New(env);
    for (size_t kind = 0; kind < kPoolKinds; ++kind) {
      const auto pool = static_cast<PoolKind>(kind);
      pools.Set(poolKindName(pool), toValue(env, statistics.of(static_cast<Counter>(counter), pool)));
    }
    value.Set(counterName(static_cast<Counter>(counter)), pools);
  }
  value.Set("num_alloc_retries", number(env, statistics.allocRetries));
  value.Set("num_ooms", number(env, statistics.ooms));
  value.Set("num_sync_all_streams", number(env, statistics.syncAllStreams));
  value.Set("num_device_alloc", number(env, statistics.deviceAllocs));
  value.Set("num_device_free", number(env, statistics.deviceFrees));
  value.Set("oversize_allocations", toValue(env, statistics.oversizeAllocations));
  value.Set("oversize_segments", toValue(env, statistics.oversizeSegments));
  value.Set("max_split_size", number(env, statistics.maxSplitSize));
  return value;
}

Napi::Object toValue(Napi::Env env, const Fragmentation& fragmentation) {
  Napi::Object value = Napi::Object::New(env);
  value.Set("external", fragmentation.external);
  value.Set("reservationWaste", fragmentation.reservationWaste);
  value.Set("currentSlack", fragmentation.currentSlack);
  value.Set("stuckSlack", fragmentation.stuckSlack);
  value.Set("internal", fragmentation.internal);
  value.Set("unusableShare", fragmentation.unusableShare);
  value.Set("largestFreeBytes", number(env, fragmentation.largestFreeBytes));
  return value;
}

}  // namespace octavo
