#include "binding/testing/pool_handle.h"

#include "binding/arguments.h"
#include "binding/testing/block_ids.h"
#include "binding/testing/memory_handle.h"

namespace octavo::testing {

namespace {

constexpr Owner kEngine{OwnerKind::kEngine, 0};

int64_t numberOf(Napi::Value value) { return value.As<Napi::Number>().Int64Value(); }

Owner sessionOf(Napi::Value id) { return {OwnerKind::kSession, static_cast<uint64_t>(numberOf(id))}; }

}  // namespace

Napi::Function PoolHandle::define(Napi::Env env) {
  using P = PoolHandle;
  return DefineClass(env, "Pool",
                     {
                         method<&P::take>("take"),
                         method<&P::release>("release"),
                         method<&P::passFence>("passFence"),
                         method<&P::trim>("trim"),
                         method<&P::compact>("compact"),
                         method<&P::planEviction>("planEviction"),
                         method<&P::setRoom>("setRoom"),
                         method<&P::raiseCapacity>("raiseCapacity"),
                         method<&P::pages>("pages"),
                         method<&P::check>("check"),
                         method<&P::dispose>("dispose"),
                     });
}

PoolHandle::PoolHandle(const Napi::CallbackInfo& info) : Handle(info) {
  guarded(info.Env(), [&] {
    DeviceAllocator& allocator = MemoryHandle::Unwrap(info[0].As<Napi::Object>())->allocator();
    const Fields options(info[1], "options");
    const auto blocks = static_cast<int64_t>(options.size("blocks"));
    const size_t blockBytes = options.size("blockBytes");
    const size_t pages = (static_cast<size_t>(blocks) * blockBytes + kPageBytes - 1) / kPageBytes;
    auto addresses = std::make_unique<AccountedRange>(pages, options.has("room") ? options.size("room") : pages);
    allocator_ = allocator.shared_from_this();
    addresses_ = addresses.get();
    range_ = std::make_unique<PageRange>(allocator, std::move(addresses), Region::kKv, kEngine, BlockPool::kPageTag);
    pool_ = std::make_unique<BlockPool>(allocator.ledger(), *range_, blocks, blockBytes);
  });
}

BlockPool& PoolHandle::pool() {
  if (!pool_) throw Error(ErrorCode::kDisposed, "the pool was disposed");
  return *pool_;
}

/** take(session, count, last, expected) → ids or null; `last` is the session's last block, -1 for none */
Napi::Value PoolHandle::take(const Napi::CallbackInfo& info) {
  const auto last = static_cast<BlockId>(numberOf(info[2]));
  std::vector<BlockId> blocks;
  if (last >= 0) blocks.push_back(last);
  if (!pool().take(sessionOf(info[0]), numberOf(info[1]), blocks, numberOf(info[3]))) return info.Env().Null();
  if (last >= 0) blocks.erase(blocks.begin());
  return toArray(info.Env(), blocks);
}

Napi::Value PoolHandle::release(const Napi::CallbackInfo& info) {
  pool().release(sessionOf(info[0]), toBlocks(info[1]), static_cast<uint64_t>(numberOf(info[2])));
  return info.Env().Undefined();
}

Napi::Value PoolHandle::passFence(const Napi::CallbackInfo& info) {
  pool().passFence(static_cast<uint64_t>(numberOf(info[0])));
  return info.Env().Undefined();
}

Napi::Value PoolHandle::trim(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), static_cast<double>(pool().trim(numberOf(info[0]))));
}

/** compact(onlyIfStuck) → [session, from, to, …] */
Napi::Value PoolHandle::compact(const Napi::CallbackInfo& info) {
  Napi::Array moves = Napi::Array::New(info.Env());
  for (const BlockMove& move : info[0].ToBoolean() ? pool().compactIfStuck() : pool().compact()) {
    moves.Set(moves.Length(), static_cast<double>(move.owner.id));
    moves.Set(moves.Length(), move.from);
    moves.Set(moves.Length(), move.to);
  }
  return moves;
}

/** planEviction(candidates, wanted, pageAware) → { evictions: [candidate, blocks, …], blocks, pages } */
Napi::Value PoolHandle::planEviction(const Napi::CallbackInfo& info) {
  const Napi::Array given = info[0].As<Napi::Array>();
  std::vector<std::vector<BlockId>> blocks;
  for (uint32_t index = 0; index < given.Length(); ++index) blocks.push_back(toBlocks(given.Get(index)));
  const std::vector<EvictionCandidate> candidates(blocks.begin(), blocks.end());
  const auto policy = info[2].ToBoolean() ? EvictionPolicy::kPageAware : EvictionPolicy::kLru;
  const EvictionPlan plan = pool().planEviction(candidates, numberOf(info[1]), policy);
  Napi::Array evictions = Napi::Array::New(info.Env());
  for (const Eviction& eviction : plan.evictions) {
    evictions.Set(evictions.Length(), static_cast<double>(eviction.candidate));
    evictions.Set(evictions.Length(), static_cast<double>(eviction.blocks));
  }
  Napi::Object made = Napi::Object::New(info.Env());
  made.Set("evictions", evictions);
  made.Set("blocks", static_cast<double>(plan.blocks));
  made.Set("pages", static_cast<double>(plan.pages));
  return made;
}

/** setRoom(pages): how many more pages the device has. */
Napi::Value PoolHandle::setRoom(const Napi::CallbackInfo& info) {
  pool();
  addresses_->setRoom(static_cast<size_t>(numberOf(info[0])));
  return info.Env().Undefined();
}

Napi::Value PoolHandle::raiseCapacity(const Napi::CallbackInfo& info) {
  pool().raiseCapacity(static_cast<size_t>(numberOf(info[0])));
  return info.Env().Undefined();
}

Napi::Value PoolHandle::pages(const Napi::CallbackInfo& info) {
  const PoolPages pages = pool().pages();
  Napi::Object object = Napi::Object::New(info.Env());
  object.Set("mapped", static_cast<double>(pages.mapped));
  object.Set("used", static_cast<double>(pages.used));
  object.Set("packed", static_cast<double>(pages.packed));
  object.Set("liveBytes", static_cast<double>(pages.liveBytes));
  object.Set("stuckBytes", static_cast<double>(pages.stuckBytes));
  object.Set("capacity", static_cast<double>(pool().capacity()));
  object.Set("free", static_cast<double>(pool().free()));
  object.Set("owned", static_cast<double>(pool().owned()));
  object.Set("inFlight", static_cast<double>(pool().inFlight()));
  return object;
}

Napi::Value PoolHandle::check(const Napi::CallbackInfo& info) {
  pool().check();
  return info.Env().Undefined();
}

Napi::Value PoolHandle::dispose(const Napi::CallbackInfo& info) {
  pool_.reset();
  range_.reset();
  allocator_.reset();
  return info.Env().Undefined();
}

}  // namespace octavo::testing
