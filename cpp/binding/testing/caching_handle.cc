#include "binding/testing/caching_handle.h"

#include <algorithm>
#include <cstring>

#include "binding/arguments.h"
#include "binding/device_values.h"
#include "binding/memory_values.h"
#include "binding/testing/memory_handle.h"

namespace octavo::testing {

namespace {

size_t sizeOf(Napi::Value value) { return static_cast<size_t>(value.As<Napi::Number>().Int64Value()); }

Napi::Value number(Napi::Env env, uint64_t value) { return Napi::Number::New(env, static_cast<double>(value)); }

uint32_t idOf(Napi::Value value) { return value.As<Napi::Number>().Uint32Value(); }

const char* stateName(BlockState state) {
  switch (state) {
    case BlockState::kUnmapped: return "unmapped";
    case BlockState::kFree: return "free";
    case BlockState::kAllocated: return "allocated";
    case BlockState::kWaiting: return "waiting";
  }
  return "unknown";
}

const char* className(BlockClass blockClass) {
  switch (blockClass) {
    case BlockClass::kSmall: return "small";
    case BlockClass::kLarge: return "large";
    case BlockClass::kOversize: return "oversize";
  }
  return "unknown";
}

Napi::Object toValue(Napi::Env env, const BlockReport& block) {
  Napi::Object value = Napi::Object::New(env);
  value.Set("address", number(env, reinterpret_cast<uintptr_t>(block.data)));
  value.Set("bytes", number(env, block.bytes));
  value.Set("requestedBytes", number(env, block.requestedBytes));
  value.Set("state", stateName(block.state));
  value.Set("tag", block.tag);
  return value;
}

}  // namespace

Napi::Function CachingHandle::define(Napi::Env env) {
  using C = CachingHandle;
  return DefineClass(
      env, "Caching",
      {
          method<&C::stream>("stream"), method<&C::enqueue>("enqueue"), method<&C::advance>("advance"),
          method<&C::streamState>("streamState"), method<&C::releaseStream>("releaseStream"),
          method<&C::allocate>("allocate"), method<&C::free>("free"), method<&C::freeAddress>("freeAddress"),
          method<&C::recordStream>("recordStream"), method<&C::fill>("fill"), method<&C::holds>("holds"),
          method<&C::trim>("trim"), method<&C::hammer>("hammer"), method<&C::createGraphPool>("createGraphPool"),
          method<&C::retainGraphPool>("retainGraphPool"), method<&C::releaseGraphPool>("releaseGraphPool"),
          method<&C::beginCapture>("beginCapture"), method<&C::endCapture>("endCapture"),
          method<&C::setLimit>("setLimit"), method<&C::failAfter>("failAfter"),
          method<&C::statistics>("statistics"), method<&C::fragmentation>("fragmentation"),
          method<&C::snapshot>("snapshot"), method<&C::lines>("lines"),
          method<&C::deviceState>("deviceState"), method<&C::check>("check"), method<&C::dispose>("dispose"),
      });
}

CachingHandle::CachingHandle(const Napi::CallbackInfo& info) : Handle(info) {
  guarded(info.Env(), [&] {
    const Fields options(info[0], "options");
    device_ = std::make_shared<FakeDevice>(FakeDeviceOptions{options.size("totalBytes"), options.flag("elastic")});
    allocator_ = DeviceAllocator::create(device_);
    CachingOptions caching;
    if (options.has("limitBytes")) caching.limitBytes = options.size("limitBytes");
    caching.maxSplitSize = options.size("maxSplitSize");
    caching_ = std::make_unique<CachingAllocator>(allocator_, Region::kWorkspace, caching);
  });
}

CachingAllocator& CachingHandle::caching() {
  if (!caching_) throw Error(ErrorCode::kDisposed, "the caching allocator was disposed");
  return *caching_;
}

FakeStream* CachingHandle::streamAt(Napi::Value number) {
  if (number.IsNull()) return nullptr;
  const auto found = streams_.find(idOf(number));
  if (found == streams_.end()) throw Error(ErrorCode::kInvalidArgument, "there is no such stream");
  return static_cast<FakeStream*>(found->second.get());
}

const CachingHandle::Live& CachingHandle::liveAt(Napi::Value number) {
  const auto found = live_.find(idOf(number));
  if (found == live_.end()) throw Error(ErrorCode::kInvalidArgument, "there is no such allocation");
  return found->second;
}

Napi::Value CachingHandle::stream(const Napi::CallbackInfo& info) {
  streams_.emplace(next_, device_->createStream());
  return number(info.Env(), next_++);
}

Napi::Value CachingHandle::enqueue(const Napi::CallbackInfo& info) {
  return number(info.Env(), ++streamAt(info[0])->enqueued);
}

Napi::Value CachingHandle::advance(const Napi::CallbackInfo& info) {
  FakeStream& stream = *streamAt(info[0]);
  stream.done = std::min(stream.enqueued, stream.done + sizeOf(info[1]));
  return number(info.Env(), stream.done);
}

Napi::Value CachingHandle::streamState(const Napi::CallbackInfo& info) {
  const FakeStream& stream = *streamAt(info[0]);
  Napi::Object state = Napi::Object::New(info.Env());
  state.Set("enqueued", number(info.Env(), stream.enqueued));
  state.Set("done", number(info.Env(), stream.done));
  state.Set("synchronized", number(info.Env(), stream.synchronized));
  return state;
}

/** Tells the allocator, then destroys the stream. */
Napi::Value CachingHandle::releaseStream(const Napi::CallbackInfo& info) {
  caching().releaseStream(*streamAt(info[0]));
  streams_.erase(idOf(info[0]));
  return info.Env().Undefined();
}

/** allocate(bytes, stream, ownerKind, ownerId, tag) → { id, address } */
Napi::Value CachingHandle::allocate(const Napi::CallbackInfo& info) {
  const size_t bytes = sizeOf(info[0]);
  void* const data = caching().allocate(bytes, streamAt(info[1]), readOwner(info[2], info[3]),
                                        info[4].As<Napi::String>().Utf8Value());
  live_.emplace(next_, Live{data, bytes});
  Napi::Object made = Napi::Object::New(info.Env());
  made.Set("id", number(info.Env(), next_++));
  made.Set("address", number(info.Env(), reinterpret_cast<uintptr_t>(data)));
  return made;
}

/** free(id, stream, bytes?): `bytes` when it is to be another than was asked. */
Napi::Value CachingHandle::free(const Napi::CallbackInfo& info) {
  const Live live = liveAt(info[0]);
  caching().deallocate(live.data, info[2].IsNumber() ? sizeOf(info[2]) : live.bytes, streamAt(info[1]));
  live_.erase(idOf(info[0]));
  return info.Env().Undefined();
}

Napi::Value CachingHandle::freeAddress(const Napi::CallbackInfo& info) {
  caching().deallocate(reinterpret_cast<void*>(sizeOf(info[0])), 1, nullptr);
  return info.Env().Undefined();
}

Napi::Value CachingHandle::recordStream(const Napi::CallbackInfo& info) {
  void* const data = info[0].IsNull() ? nullptr : liveAt(info[0]).data;
  caching().recordStream(data, *streamAt(info[1]));
  return info.Env().Undefined();
}

Napi::Value CachingHandle::fill(const Napi::CallbackInfo& info) {
  const Live& live = liveAt(info[0]);
  std::memset(live.data, info[1].As<Napi::Number>().Int32Value(), live.bytes);
  return info.Env().Undefined();
}

/** holds(id, byte): every byte of it? */
Napi::Value CachingHandle::holds(const Napi::CallbackInfo& info) {
  const Live& live = liveAt(info[0]);
  const auto* const bytes = static_cast<const uint8_t*>(live.data);
  const auto expected = static_cast<uint8_t>(info[1].As<Napi::Number>().Int32Value());
  const bool all = std::all_of(bytes, bytes + live.bytes, [&](uint8_t byte) { return byte == expected; });
  return Napi::Boolean::New(info.Env(), all);
}

Napi::Value CachingHandle::trim(const Napi::CallbackInfo& info) {
  return number(info.Env(), caching().trim(sizeOf(info[0])));
}

Napi::Value CachingHandle::createGraphPool(const Napi::CallbackInfo& info) {
  return number(info.Env(), caching().createGraphPool());
}

Napi::Value CachingHandle::retainGraphPool(const Napi::CallbackInfo& info) {
  caching().retainGraphPool(sizeOf(info[0]));
  return info.Env().Undefined();
}

Napi::Value CachingHandle::releaseGraphPool(const Napi::CallbackInfo& info) {
  caching().releaseGraphPool(sizeOf(info[0]));
  return info.Env().Undefined();
}

Napi::Value CachingHandle::beginCapture(const Napi::CallbackInfo& info) {
  caching().beginCapture(sizeOf(info[0]), *streamAt(info[1]));
  return info.Env().Undefined();
}

Napi::Value CachingHandle::endCapture(const Napi::CallbackInfo& info) {
  caching().endCapture(*streamAt(info[0]));
  return info.Env().Undefined();
}

Napi::Value CachingHandle::setLimit(const Napi::CallbackInfo& info) {
  allocator_->setLimit(Region::kWorkspace, sizeOf(info[0]));
  return info.Env().Undefined();
}

Napi::Value CachingHandle::failAfter(const Napi::CallbackInfo& info) {
  allocator_->failAfter(sizeOf(info[0]));
  return info.Env().Undefined();
}

Napi::Value CachingHandle::statistics(const Napi::CallbackInfo& info) {
  return octavo::toValue(info.Env(), caching().statistics());
}

Napi::Value CachingHandle::fragmentation(const Napi::CallbackInfo& info) {
  return octavo::toValue(info.Env(), fragmentationOf(caching().statistics()));
}

Napi::Value CachingHandle::snapshot(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  Napi::Array segments = Napi::Array::New(env);
  for (const SegmentReport& segment : caching().snapshot()) {
    Napi::Array blocks = Napi::Array::New(env, segment.blocks.size());
    for (uint32_t index = 0; index < segment.blocks.size(); ++index) {
      blocks.Set(index, toValue(env, segment.blocks[index]));
    }
    Napi::Object value = Napi::Object::New(env);
    value.Set("class", className(segment.blockClass));
    value.Set("graphPool", number(env, segment.graphPool));
    value.Set("mappedPages", number(env, segment.mappedPages));
    value.Set("blocks", blocks);
    segments.Set(segments.Length(), value);
  }
  return segments;
}

Napi::Value CachingHandle::lines(const Napi::CallbackInfo& info) {
  const std::vector<LedgerLine> held = allocator_->ledger().lines();
  Napi::Array lines = Napi::Array::New(info.Env(), held.size());
  for (uint32_t index = 0; index < held.size(); ++index) lines.Set(index, octavo::toValue(info.Env(), held[index]));
  return lines;
}

Napi::Value CachingHandle::deviceState(const Napi::CallbackInfo& info) {
  Napi::Object state = Napi::Object::New(info.Env());
  state.Set("heldBytes", number(info.Env(), device_->memoryUse().processBytes.value_or(0)));
  state.Set("queries", number(info.Env(), device_->queries));
  return state;
}

Napi::Value CachingHandle::check(const Napi::CallbackInfo& info) {
  if (caching_) caching_->check();
  allocator_->check();
  return info.Env().Undefined();
}

/** The cache goes, handed out or not; ledger and device stay to be looked at. */
Napi::Value CachingHandle::dispose(const Napi::CallbackInfo& info) {
  caching_.reset();
  live_.clear();
  return info.Env().Undefined();
}

}  // namespace octavo::testing
