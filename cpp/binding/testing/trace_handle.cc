#include "binding/testing/trace_handle.h"

#include <algorithm>

#include "binding/engine_arguments.h"
#include "binding/testing/memory_handle.h"
#include "binding/testing/trace_load.h"
#include "binding/trace_values.h"
#include "memory/trace/leak_finder.h"

namespace octavo::testing {

namespace {

/** (region, address, bytes, ownerKind, ownerId, tag) */
struct Place {
  explicit Place(const Napi::CallbackInfo& info)
      : region(readRegion(info[0])),
        address(reinterpret_cast<const void*>(info[1].As<Napi::Number>().Int64Value())),
        bytes(static_cast<size_t>(info[2].As<Napi::Number>().Int64Value())),
        owner(readOwner(info[3], info[4])),
        tag(info[5].As<Napi::String>()) {}

  Region region;
  const void* address;
  size_t bytes;
  Owner owner;
  std::string tag;
};

int count(Napi::Value value) { return value.As<Napi::Number>().Int32Value(); }

}  // namespace

Napi::Function TraceHandle::define(Napi::Env env) {
  using T = TraceHandle;
  return DefineClass(env, "Trace",
                     {
                         method<&T::setLevel>("setLevel"),
                         method<&T::allocated>("allocated"),
                         method<&T::freeRequested>("freeRequested"),
                         method<&T::freeCompleted>("freeCompleted"),
                         method<&T::segmentMapped>("segmentMapped"),
                         method<&T::segmentUnmapped>("segmentUnmapped"),
                         method<&T::transferred>("transferred"),
                         method<&T::outOfMemory>("outOfMemory"),
                         method<&T::ownerEnded>("ownerEnded"),
                         method<&T::snapshot>("snapshot"),
                         method<&T::leaks>("leaks"),
                         method<&T::hammer>("hammer"),
                         method<&T::cost>("cost"),
                         method<&T::check>("check"),
                         method<&T::dispose>("dispose"),
                     });
}

TraceHandle::TraceHandle(const Napi::CallbackInfo& info) : Handle(info) {
  guarded(info.Env(), [&] {
    if (info[1].IsObject()) {
      allocator_ = MemoryHandle::Unwrap(info[1].As<Napi::Object>())->allocator().shared_from_this();
    } else {
      own_ = std::make_unique<MemoryTrace>();
    }
    trace().configure(readTrace(Fields(info[0], "trace")));
  });
}

MemoryTrace& TraceHandle::trace() {
  if (!own_ && !allocator_) throw Error(ErrorCode::kDisposed, "the trace was disposed");
  return own_ ? *own_ : allocator_->trace();
}

Napi::Value TraceHandle::setLevel(const Napi::CallbackInfo& info) {
  trace().setLevel(count(info[0]));
  return info.Env().Undefined();
}

Napi::Value TraceHandle::allocated(const Napi::CallbackInfo& info) {
  const Place at(info);
  trace().allocated(at.region, at.address, at.bytes, at.owner, at.tag);
  return info.Env().Undefined();
}

Napi::Value TraceHandle::freeRequested(const Napi::CallbackInfo& info) {
  const Place at(info);
  trace().freeRequested(at.region, at.address, at.bytes, at.owner, at.tag);
  return info.Env().Undefined();
}

Napi::Value TraceHandle::freeCompleted(const Napi::CallbackInfo& info) {
  const Place at(info);
  trace().freeCompleted(at.region, at.address, at.bytes, at.owner, at.tag);
  return info.Env().Undefined();
}

Napi::Value TraceHandle::segmentMapped(const Napi::CallbackInfo& info) {
  const Place at(info);
  trace().segmentMapped(at.region, at.address, at.bytes, at.owner, at.tag);
  return info.Env().Undefined();
}

Napi::Value TraceHandle::segmentUnmapped(const Napi::CallbackInfo& info) {
  const Place at(info);
  trace().segmentUnmapped(at.region, at.address, at.bytes, at.owner, at.tag);
  return info.Env().Undefined();
}

/** (region, fromKind, fromId, fromTag, toKind, toId, toTag, bytes) */
Napi::Value TraceHandle::transferred(const Napi::CallbackInfo& info) {
  const std::string fromTag = info[3].As<Napi::String>();
  const std::string toTag = info[6].As<Napi::String>();
  trace().transferred(readRegion(info[0]), readOwner(info[1], info[2]), fromTag, readOwner(info[4], info[5]), toTag,
                      static_cast<size_t>(info[7].As<Napi::Number>().Int64Value()));
  return info.Env().Undefined();
}

Napi::Value TraceHandle::outOfMemory(const Napi::CallbackInfo& info) {
  const Place at(info);
  trace().outOfMemory(at.region, at.bytes, at.owner, at.tag);
  return info.Env().Undefined();
}

Napi::Value TraceHandle::ownerEnded(const Napi::CallbackInfo& info) {
  trace().ownerEnded(readOwner(info[0], info[1]));
  return info.Env().Undefined();
}

Napi::Value TraceHandle::snapshot(const Napi::CallbackInfo& info) { return makeTrace(info.Env(), trace().snapshot()); }

/** leaks(kind, id): of that one owner, who is over. The trace must be a Memory's. */
Napi::Value TraceHandle::leaks(const Napi::CallbackInfo& info) {
  if (!allocator_) throw Error(ErrorCode::kInvalidArgument, "this trace has no ledger; make it with a Memory");
  const Owner ended = readOwner(info[0], info[1]);
  const TraceSnapshot snapshot = trace().snapshot();
  LeakReport report;
  report.leaks = findLeaks(allocator_->ledger().lines(), snapshot, [&](Owner owner) { return owner != ended; });
  report.nowNanoseconds = snapshot.nowNanoseconds;
  for (const Leak& leak : report.leaks) report.stacks.push_back(snapshot.stacks[leak.stack]);
  return makeLeaks(info.Env(), report);
}

Napi::Value TraceHandle::hammer(const Napi::CallbackInfo& info) {
  hammerTrace(trace(), count(info[0]), count(info[1]), info[2].As<Napi::Boolean>());
  return info.Env().Undefined();
}

Napi::Value TraceHandle::cost(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), measureTrace(trace(), count(info[0])));
}

Napi::Value TraceHandle::check(const Napi::CallbackInfo& info) {
  trace().check();
  return info.Env().Undefined();
}

Napi::Value TraceHandle::dispose(const Napi::CallbackInfo& info) {
  own_.reset();
  allocator_.reset();
  return info.Env().Undefined();
}

}  // namespace octavo::testing
