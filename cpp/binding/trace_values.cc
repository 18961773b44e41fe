#include "binding/trace_values.h"

#include "binding/engine_results.h"
#include "memory/trace/symbols.h"

namespace octavo {

namespace {

double number(uint64_t value) { return static_cast<double>(value); }
double number(int64_t value) { return static_cast<double>(value); }

/** One field of every element, end to end. */
template <typename Array, typename Element, typename Read>
Array column(Napi::Env env, const std::vector<Element>& elements, Read read) {
  Array column = Array::New(env, elements.size());
  auto* const values = column.Data();
  for (size_t index = 0; index < elements.size(); ++index) {
    values[index] = static_cast<std::remove_reference_t<decltype(values[0])>>(read(elements[index]));
  }
  return column;
}

Napi::Object makeEventColumns(Napi::Env env, const std::vector<TraceEvent>& events) {
  using Doubles = Napi::Float64Array;
  using Words = Napi::Uint32Array;
  using Bytes = Napi::Uint8Array;
  using E = const TraceEvent&;
  Napi::Object made = Napi::Object::New(env);
  made.Set("sequence", column<Doubles>(env, events, [](E event) { return event.sequence; }));
  made.Set("timeNs", column<Doubles>(env, events, [](E event) { return event.timeNanoseconds; }));
  made.Set("address", column<Doubles>(env, events, [](E event) { return event.address; }));
  made.Set("bytes", column<Doubles>(env, events, [](E event) { return event.bytes; }));
  made.Set("ownerId", column<Doubles>(env, events, [](E event) { return event.owner.id; }));
  made.Set("fromId", column<Doubles>(env, events, [](E event) { return event.from.id; }));
  made.Set("tag", column<Words>(env, events, [](E event) { return event.tag; }));
  made.Set("fromTag", column<Words>(env, events, [](E event) { return event.fromTag; }));
  made.Set("stack", column<Words>(env, events, [](E event) { return event.stack; }));
  made.Set("thread", column<Words>(env, events, [](E event) { return event.thread; }));
  made.Set("operation", column<Bytes>(env, events, [](E event) { return static_cast<uint8_t>(event.operation); }));
  made.Set("region", column<Bytes>(env, events, [](E event) { return static_cast<uint8_t>(event.region); }));
  made.Set("ownerKind", column<Bytes>(env, events, [](E event) { return static_cast<uint8_t>(event.owner.kind); }));
  made.Set("fromKind", column<Bytes>(env, events, [](E event) { return static_cast<uint8_t>(event.from.kind); }));
  return made;
}

void setOwner(Napi::Object& made, Owner owner) {
  made.Set("ownerKind", ownerKindName(owner.kind));
  made.Set("ownerId", number(owner.id));
}

/** What allocations, segments and holdings have in common. */
template <typename Live>
Napi::Object makeLive(Napi::Env env, const Live& live) {
  Napi::Object made = Napi::Object::New(env);
  setOwner(made, live.owner);
  made.Set("region", regionName(live.region));
  made.Set("tag", live.tag);
  made.Set("bytes", number(live.bytes));
  made.Set("stack", live.stack);
  made.Set("sequence", number(live.sequence));
  made.Set("timeNs", number(live.timeNanoseconds));
  if constexpr (requires { live.address; }) made.Set("address", number(live.address));
  if constexpr (requires { live.sampledBytes; }) {
    made.Set("sampledBytes", number(live.sampledBytes));
    made.Set("thread", live.thread);
    made.Set("freeRequested", live.freeRequested);
  }
  return made;
}

template <typename Live>
Napi::Array makeAll(Napi::Env env, const std::vector<Live>& all) {
  Napi::Array made = Napi::Array::New(env, all.size());
  for (uint32_t index = 0; index < all.size(); ++index) made.Set(index, makeLive(env, all[index]));
  return made;
}

Napi::Array makeNames(Napi::Env env, const std::vector<std::string>& names) {
  Napi::Array made = Napi::Array::New(env, names.size());
  for (uint32_t index = 0; index < names.size(); ++index) made.Set(index, names[index]);
  return made;
}

template <typename Name>
Napi::Array makeEnum(Napi::Env env, int count, Name name) {
  Napi::Array made = Napi::Array::New(env);
  for (int index = 0; index < count; ++index) made.Set(static_cast<uint32_t>(index), name(index));
  return made;
}

Napi::Object makeFrame(Napi::Env env, const Symbol& symbol) {
  Napi::Object made = Napi::Object::New(env);
  made.Set("address", number(static_cast<uint64_t>(symbol.address)));
  made.Set("function", symbol.function);
  made.Set("module", symbol.module);
  made.Set("offset", number(symbol.offset));
  return made;
}

Napi::Array makeFrames(Napi::Env env, const StackFrames& frames, Symboliser& symbols) {
  Napi::Array made = Napi::Array::New(env);
  for (const uintptr_t frame : frames) {
    if (frame != 0) made.Set(made.Length(), makeFrame(env, symbols.symbol(frame)));
  }
  return made;
}

/** `stacks`: per stack the indices of its frames; `frames`: each once. */
void setStacks(Napi::Env env, Napi::Object& made, const std::vector<StackFrames>& all) {
  Symboliser symbols;
  std::unordered_map<uintptr_t, uint32_t> indices;
  Napi::Array stacks = Napi::Array::New(env, all.size());
  Napi::Array frames = Napi::Array::New(env);
  for (uint32_t id = 0; id < all.size(); ++id) {
    Napi::Array stack = Napi::Array::New(env);
    for (const uintptr_t frame : all[id]) {
      if (frame == 0) break;
      const auto [index, isNew] = indices.emplace(frame, frames.Length());
      if (isNew) frames.Set(index->second, makeFrame(env, symbols.symbol(frame)));
      stack.Set(stack.Length(), index->second);
    }
    stacks.Set(id, stack);
  }
  made.Set("stacks", stacks);
  made.Set("frames", frames);
}

}  // namespace

Napi::Object makeSpill(Napi::Env env, const SpillReport& spill) {
  Napi::Object made = Napi::Object::New(env);
  made.Set("path", spill.path);
  made.Set("bytes", number(spill.bytes));
  made.Set("lines", number(spill.lines));
  made.Set("dropped", number(spill.dropped));
  made.Set("problem", spill.problem);
  return made;
}

Napi::Object makeTrace(Napi::Env env, const TraceSnapshot& trace) {
  Napi::Object made = Napi::Object::New(env);
  made.Set("level", trace.options.level);
  made.Set("ringEvents", number(trace.options.ringEvents));
  made.Set("sampleBytes", number(trace.options.sampleBytes));
  made.Set("nowNs", number(trace.nowNanoseconds));
  made.Set("recorded", number(trace.recorded));
  made.Set("overwritten", number(trace.overwritten));
  made.Set("dropped", number(trace.dropped));
  made.Set("stacksDropped", number(trace.stacksDropped));
  made.Set("spill", makeSpill(env, trace.spill));
  made.Set("operations", makeEnum(env, kTraceOperationCount, [](int index) {
             return traceOperationName(static_cast<TraceOperation>(index));
           }));
  made.Set("regions", makeEnum(env, kRegionCount, [](int index) { return regionName(static_cast<Region>(index)); }));
  made.Set("ownerKinds", makeEnum(env, kOwnerKindCount, [](int index) {
             return ownerKindName(static_cast<OwnerKind>(index));
           }));
  made.Set("tags", makeNames(env, trace.tags));
  setStacks(env, made, trace.stacks);
  made.Set("events", makeEventColumns(env, trace.events));
  made.Set("allocations", makeAll(env, trace.allocations));
  made.Set("segments", makeAll(env, trace.segments));
  made.Set("holdings", makeAll(env, trace.holdings));
  return made;
}

Napi::Object makeSnapshot(Napi::Env env, const EngineSnapshot& snapshot) {
  Napi::Object made = Napi::Object::New(env);
  made.Set("report", makeReport(env, snapshot.report));
  made.Set("trace", makeTrace(env, snapshot.trace));
  made.Set("kvAddress", number(snapshot.kvAddress));
  Napi::Array blocks = Napi::Array::New(env, snapshot.blocks.size());
  for (uint32_t index = 0; index < snapshot.blocks.size(); ++index) {
    const BlockPool::Run& run = snapshot.blocks[index];
    Napi::Object block = Napi::Object::New(env);
    setOwner(block, run.owner);
    block.Set("first", run.first);
    block.Set("count", number(run.blocks));
    block.Set("state", run.state);
    blocks.Set(index, block);
  }
  made.Set("kvBlocks", blocks);
  Napi::Array pages = Napi::Array::New(env);
  for (const PageRuns::Run& run : snapshot.kvPages) {
    Napi::Object each = Napi::Object::New(env);
    each.Set("address", number(snapshot.kvAddress + static_cast<uint64_t>(run.first) * kPageBytes));
    each.Set("bytes", number(static_cast<uint64_t>(run.count) * kPageBytes));
    pages.Set(pages.Length(), each);
  }
  made.Set("kvPages", pages);
  return made;
}

Napi::Object makeLeaks(Napi::Env env, const LeakReport& report) {
  Symboliser symbols;
  Napi::Array leaks = Napi::Array::New(env, report.leaks.size());
  for (uint32_t index = 0; index < report.leaks.size(); ++index) {
    const Leak& leak = report.leaks[index];
    Napi::Object object = Napi::Object::New(env);
    setOwner(object, leak.owner);
    object.Set("region", regionName(leak.region));
    object.Set("tag", leak.tag);
    object.Set("bytes", number(leak.bytes));
    object.Set("count", number(leak.count));
    object.Set("address", number(leak.address));
    object.Set("sinceNs", number(leak.sinceNanoseconds));
    object.Set("endedNs", number(leak.endedNanoseconds));
    object.Set("stack", makeFrames(env, report.stacks[index], symbols));
    leaks.Set(index, object);
  }
  Napi::Object made = Napi::Object::New(env);
  made.Set("leaks", leaks);
  made.Set("nowNs", number(report.nowNanoseconds));
  made.Set("streams", number(report.streams));
  made.Set("events", number(report.events));
  made.Set("graphs", number(report.graphs));
  made.Set("pinned", number(report.pinned));
  made.Set("pinnedKept", number(report.pinnedKept));
  return made;
}

}  // namespace octavo
