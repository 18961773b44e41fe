#include "binding/testing/workspace_handle.h"

#include <algorithm>

#include "binding/arguments.h"
#include "binding/memory_values.h"
#include "binding/testing/memory_handle.h"

namespace octavo::testing {

namespace {

size_t sizeOf(Napi::Value value) { return static_cast<size_t>(value.As<Napi::Number>().Int64Value()); }

Napi::Value number(Napi::Env env, uint64_t value) { return Napi::Number::New(env, static_cast<double>(value)); }

uint32_t idOf(Napi::Value value) { return value.As<Napi::Number>().Uint32Value(); }

}  // namespace

Napi::Function WorkspaceHandle::define(Napi::Env env) {
  using W = WorkspaceHandle;
  return DefineClass(env, "Workspace",
                     {
                         method<&W::stream>("stream"),
                         method<&W::releaseStream>("releaseStream"),
                         method<&W::isBusy>("isBusy"),
                         method<&W::synchronize>("synchronize"),
                         method<&W::allocate>("allocate"),
                         method<&W::free>("free"),
                         method<&W::recordStream>("recordStream"),
                         method<&W::fill>("fill"),
                         method<&W::copy>("copy"),
                         method<&W::read>("read"),
                         method<&W::trim>("trim"),
                         method<&W::statistics>("statistics"),
                         method<&W::check>("check"),
                         method<&W::dispose>("dispose"),
                     });
}

WorkspaceHandle::WorkspaceHandle(const Napi::CallbackInfo& info) : Handle(info) {
  guarded(info.Env(), [&] {
    allocator_ = MemoryHandle::Unwrap(info[0].As<Napi::Object>())->allocator().shared_from_this();
    caching_ = std::make_unique<CachingAllocator>(allocator_, Region::kWorkspace, CachingOptions{});
  });
}

CachingAllocator& WorkspaceHandle::caching() {
  if (!caching_) throw Error(ErrorCode::kDisposed, "the workspace was disposed");
  return *caching_;
}

Stream* WorkspaceHandle::streamAt(Napi::Value number) { return number.IsNull() ? nullptr : &realStreamAt(number); }

Stream& WorkspaceHandle::realStreamAt(Napi::Value number) {
  const auto found = streams_.find(idOf(number));
  if (found == streams_.end()) throw Error(ErrorCode::kInvalidArgument, "there is no such stream");
  return *found->second;
}

const WorkspaceHandle::Live& WorkspaceHandle::liveAt(Napi::Value number) {
  const auto found = live_.find(idOf(number));
  if (found == live_.end()) throw Error(ErrorCode::kInvalidArgument, "there is no such allocation");
  return found->second;
}

Napi::Value WorkspaceHandle::stream(const Napi::CallbackInfo& info) {
  caching();
  streams_.emplace(next_, device().createStream());
  return number(info.Env(), next_++);
}

/** Tells the allocator, then destroys the stream. */
Napi::Value WorkspaceHandle::releaseStream(const Napi::CallbackInfo& info) {
  caching().releaseStream(realStreamAt(info[0]));
  streams_.erase(idOf(info[0]));
  return info.Env().Undefined();
}

/** isBusy(stream): has not done yet what was enqueued until now. */
Napi::Value WorkspaceHandle::isBusy(const Napi::CallbackInfo& info) {
  const std::unique_ptr<Event> event = device().createEvent();
  event->record(realStreamAt(info[0]));
  return Napi::Boolean::New(info.Env(), !event->query());
}

Napi::Value WorkspaceHandle::synchronize(const Napi::CallbackInfo& info) {
  realStreamAt(info[0]).synchronize();
  return info.Env().Undefined();
}

/** allocate(bytes, stream, owner) → { id, address } */
Napi::Value WorkspaceHandle::allocate(const Napi::CallbackInfo& info) {
  const size_t bytes = sizeOf(info[0]);
  const Owner owner{OwnerKind::kRequest, sizeOf(info[2])};
  void* const data = caching().allocate(bytes, streamAt(info[1]), owner, "test.scratch");
  live_.emplace(next_, Live{data, bytes});
  Napi::Object made = Napi::Object::New(info.Env());
  made.Set("id", number(info.Env(), next_++));
  made.Set("address", number(info.Env(), reinterpret_cast<uintptr_t>(data)));
  return made;
}

Napi::Value WorkspaceHandle::free(const Napi::CallbackInfo& info) {
  const Live live = liveAt(info[0]);
  caching().deallocate(live.data, live.bytes, streamAt(info[1]));
  live_.erase(idOf(info[0]));
  return info.Env().Undefined();
}

Napi::Value WorkspaceHandle::recordStream(const Napi::CallbackInfo& info) {
  caching().recordStream(liveAt(info[0]).data, realStreamAt(info[1]));
  return info.Env().Undefined();
}

/** fill(id, byte, stream): enqueued. */
Napi::Value WorkspaceHandle::fill(const Napi::CallbackInfo& info) {
  const Live& live = liveAt(info[0]);
  const auto byte = static_cast<uint8_t>(info[1].As<Napi::Number>().Uint32Value());
  device().fill(live.data, byte, live.bytes, realStreamAt(info[2]));
  return info.Env().Undefined();
}

/** copy(from, to, stream): as much as both have; enqueued. */
Napi::Value WorkspaceHandle::copy(const Napi::CallbackInfo& info) {
  const Live& from = liveAt(info[0]);
  const Live& to = liveAt(info[1]);
  device().copy(to.data, from.data, std::min(from.bytes, to.bytes), CopyKind::kDeviceToDevice, realStreamAt(info[2]));
  return info.Env().Undefined();
}

/** read(id, stream) → its bytes, when the stream has done what was enqueued before */
Napi::Value WorkspaceHandle::read(const Napi::CallbackInfo& info) {
  const Live& live = liveAt(info[0]);
  auto bytes = Napi::Uint8Array::New(info.Env(), live.bytes);
  device().copy(bytes.Data(), live.data, live.bytes, CopyKind::kDeviceToHost, realStreamAt(info[1]));
  realStreamAt(info[1]).synchronize();
  return bytes;
}

Napi::Value WorkspaceHandle::trim(const Napi::CallbackInfo& info) {
  return number(info.Env(), caching().trim(sizeOf(info[0])));
}

Napi::Value WorkspaceHandle::statistics(const Napi::CallbackInfo& info) {
  return octavo::toValue(info.Env(), caching().statistics());
}

Napi::Value WorkspaceHandle::check(const Napi::CallbackInfo& info) {
  caching().check();
  return info.Env().Undefined();
}

/** Waits for the streams; then everything goes, handed out or not. */
Napi::Value WorkspaceHandle::dispose(const Napi::CallbackInfo& info) {
  for (const auto& [id, stream] : streams_) stream->synchronize();
  caching_.reset();
  live_.clear();
  streams_.clear();
  allocator_.reset();
  return info.Env().Undefined();
}

}  // namespace octavo::testing
