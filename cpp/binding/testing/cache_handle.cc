#include "binding/testing/cache_handle.h"

#include "binding/arguments.h"
#include "binding/testing/block_ids.h"
#include "binding/testing/memory_handle.h"

namespace octavo::testing {

namespace {

KvCacheShape readShape(const Fields& shape) {
  return {shape.floatDType("dtype"), shape.int32("layers"), shape.int32("kvHeads"), shape.int32("blockSize"),
          shape.int32("headDim")};
}

}  // namespace

Napi::Function CacheHandle::define(Napi::Env env) {
  using C = CacheHandle;
  return DefineClass(env, "Cache",
                     {
                         method<&C::take>("take"),
                         method<&C::release>("release"),
                         method<&C::passFence>("passFence"),
                         method<&C::counts>("counts"),
                         method<&C::write>("write"),
                         method<&C::read>("read"),
                         method<&C::compact>("compact"),
                         method<&C::trim>("trim"),
                         method<&C::pages>("pages"),
                         method<&C::raiseCapacity>("raiseCapacity"),
                         method<&C::ownedBy>("ownedBy"),
                         method<&C::check>("check"),
                         method<&C::dispose>("dispose"),
                     });
}

CacheHandle::CacheHandle(const Napi::CallbackInfo& info) : Handle(info) {
  guarded(info.Env(), [&] {
    DeviceAllocator& allocator = MemoryHandle::Unwrap(info[0].As<Napi::Object>())->allocator();
    allocator_ = allocator.shared_from_this();
    cache_ = std::make_unique<KvCache>(allocator, readShape({info[1], "shape"}),
                                       info[2].As<Napi::Number>().Int64Value());
  });
}

/** Made when it is first needed. */
Stream& CacheHandle::stream() {
  if (!stream_) stream_ = allocator_->device().createStream();
  return *stream_;
}

KvCache& CacheHandle::cache() {
  if (!cache_) throw Error(ErrorCode::kDisposed, "the cache was disposed");
  return *cache_;
}

Napi::Value CacheHandle::take(const Napi::CallbackInfo& info) {
  std::vector<BlockId> blocks;
  const int64_t count = info[2].As<Napi::Number>().Int64Value();
  if (!cache().pool().take(readOwner(info[0], info[1]), count, blocks)) return info.Env().Null();
  return toArray(info.Env(), blocks);
}

Napi::Value CacheHandle::release(const Napi::CallbackInfo& info) {
  const auto fence = static_cast<uint64_t>(info[3].As<Napi::Number>().Int64Value());
  cache().pool().release(readOwner(info[0], info[1]), toBlocks(info[2]), fence);
  return info.Env().Undefined();
}

Napi::Value CacheHandle::passFence(const Napi::CallbackInfo& info) {
  cache().pool().passFence(static_cast<uint64_t>(info[0].As<Napi::Number>().Int64Value()));
  return info.Env().Undefined();
}

Napi::Value CacheHandle::counts(const Napi::CallbackInfo& info) {
  BlockPool& pool = cache().pool();
  Napi::Object counts = Napi::Object::New(info.Env());
  counts.Set("total", static_cast<double>(pool.total()));
  counts.Set("free", static_cast<double>(pool.free()));
  counts.Set("owned", static_cast<double>(pool.owned()));
  counts.Set("inFlight", static_cast<double>(pool.inFlight()));
  counts.Set("blockBytes", static_cast<double>(pool.blockBytes()));
  return counts;
}

/** write(block, bytes): a whole block, through the device. */
Napi::Value CacheHandle::write(const Napi::CallbackInfo& info) {
  const auto bytes = info[1].As<Napi::Uint8Array>();
  requireBlock(bytes.ByteLength());
  void* const block = cache().address(info[0].As<Napi::Number>().Int32Value());
  allocator_->device().copy(block, bytes.Data(), bytes.ByteLength(), CopyKind::kHostToDevice, stream());
  stream().synchronize();
  return info.Env().Undefined();
}

/** read(block) → its bytes */
Napi::Value CacheHandle::read(const Napi::CallbackInfo& info) {
  auto bytes = Napi::Uint8Array::New(info.Env(), cache().pool().blockBytes());
  void* const block = cache().address(info[0].As<Napi::Number>().Int32Value());
  allocator_->device().copy(bytes.Data(), block, bytes.ByteLength(), CopyKind::kDeviceToHost, stream());
  stream().synchronize();
  return bytes;
}

void CacheHandle::requireBlock(size_t bytes) {
  const size_t blockBytes = cache().pool().blockBytes();
  if (bytes == blockBytes) return;
  throw Error(ErrorCode::kInvalidArgument, "a block has " + std::to_string(blockBytes) + " bytes, not " +
                                               std::to_string(bytes));
}

/** compact() → [owner, from, to, …]: one slice, its copies enqueued as an engine does; read and write wait for them. */
Napi::Value CacheHandle::compact(const Napi::CallbackInfo& info) {
  const size_t bytes = cache().pool().blockBytes();
  Napi::Array moves = Napi::Array::New(info.Env());
  for (const BlockMove& move : cache().pool().compact()) {
    allocator_->device().copy(cache().address(move.to), cache().address(move.from), bytes,
                              CopyKind::kDeviceToDevice, stream());
    moves.Set(moves.Length(), static_cast<double>(move.owner.id));
    moves.Set(moves.Length(), move.from);
    moves.Set(moves.Length(), move.to);
  }
  return moves;
}

/** trim(keep) → pages that went, once the copies out of them were done */
Napi::Value CacheHandle::trim(const Napi::CallbackInfo& info) {
  stream().synchronize();
  const int64_t given = cache().pool().trim(info[0].As<Napi::Number>().Int64Value());
  return Napi::Number::New(info.Env(), static_cast<double>(given));
}

Napi::Value CacheHandle::pages(const Napi::CallbackInfo& info) {
  const PoolPages pages = cache().pool().pages();
  Napi::Object object = Napi::Object::New(info.Env());
  object.Set("mapped", static_cast<double>(pages.mapped));
  object.Set("used", static_cast<double>(pages.used));
  object.Set("packed", static_cast<double>(pages.packed));
  object.Set("capacity", static_cast<double>(cache().pool().capacity()));
  return object;
}

Napi::Value CacheHandle::raiseCapacity(const Napi::CallbackInfo& info) {
  cache().pool().raiseCapacity(static_cast<size_t>(info[0].As<Napi::Number>().Int64Value()));
  return info.Env().Undefined();
}

Napi::Value CacheHandle::ownedBy(const Napi::CallbackInfo& info) {
  const int64_t blocks = cache().pool().ownedBy(readOwner(info[0], info[1]));
  return Napi::Number::New(info.Env(), static_cast<double>(blocks));
}

Napi::Value CacheHandle::check(const Napi::CallbackInfo& info) {
  cache().pool().check();
  return info.Env().Undefined();
}

Napi::Value CacheHandle::dispose(const Napi::CallbackInfo& info) {
  cache_.reset();
  stream_.reset();
  allocator_.reset();
  return info.Env().Undefined();
}

}  // namespace octavo::testing
