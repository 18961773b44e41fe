#include "binding/testing/prefix_handle.h"

#include "binding/arguments.h"
#include "binding/prefix_values.h"
#include "binding/testing/block_ids.h"
#include "binding/testing/pool_handle.h"

namespace octavo::testing {

namespace {

int64_t numberOf(Napi::Value value) { return value.As<Napi::Number>().Int64Value(); }

uint64_t sessionOf(Napi::Value id) { return static_cast<uint64_t>(numberOf(id)); }

/** A test names blocks by numbers; as hashes they stand for themselves. */
std::vector<PrefixHash> chainOf(Napi::Value ids) {
  const auto given = ids.As<Napi::Int32Array>();
  std::vector<PrefixHash> chain;
  for (size_t index = 0; index < given.ElementLength(); ++index) {
    chain.push_back({static_cast<uint64_t>(given[index]), 1});
  }
  return chain;
}

}  // namespace

Napi::Function PrefixHandle::define(Napi::Env env) {
  using P = PrefixHandle;
  return DefineClass(env, "Prefix",
                     {
                         method<&P::request>("request"),
                         method<&P::has>("has"),
                         method<&P::leave>("leave"),
                         method<&P::share>("share"),
                         method<&P::claim>("claim"),
                         method<&P::evict>("evict"),
                         method<&P::compact>("compact"),
                         method<&P::advance>("advance"),
                         method<&P::report>("report"),
                         method<&P::check>("check"),
                     });
}

PrefixHandle::PrefixHandle(const Napi::CallbackInfo& info) : Handle(info) {
  guarded(info.Env(), [&] {
    const Napi::Object pool = info[0].As<Napi::Object>();
    poolObject_ = Napi::Persistent(pool);
    pool_ = &PoolHandle::Unwrap(pool)->pool();
    cache_ = std::make_unique<PrefixCache>(*pool_, clock_, readPrefix({info[1], "prefix"}));
  });
}

/**
 * request(session, ids, fence) → { hits, blocks }: what an engine does with a prompt of full blocks, whose session
 * holds nothing yet. null, with nothing held, when the pool has too few blocks free.
 */
Napi::Value PrefixHandle::request(const Napi::CallbackInfo& info) {
  const uint64_t session = sessionOf(info[0]);
  const std::vector<PrefixHash> chain = chainOf(info[1]);
  const auto fence = static_cast<uint64_t>(numberOf(info[2]));
  const PrefixUse use = cache_->nextUse();
  const size_t hits = cache_->match(chain);
  std::vector<BlockId> blocks = cache_->hold(std::span(chain).first(hits), session, use);
  const auto missing = static_cast<int64_t>(chain.size() - hits);
  if (!pool_->take({OwnerKind::kSession, session}, missing, blocks)) {
    cache_->leave(session, blocks, fence, PrefixCache::Leaving::kKeep);
    return info.Env().Null();
  }
  for (size_t index = hits; index < chain.size(); ++index) {
    blocks[index] = cache_->enter(chain[index], static_cast<int32_t>(index), blocks[index], session, use, fence);
  }
  Napi::Object made = Napi::Object::New(info.Env());
  made.Set("hits", static_cast<double>(hits));
  made.Set("blocks", toArray(info.Env(), blocks));
  return made;
}

/** has(ids) → how many leading blocks can be found */
Napi::Value PrefixHandle::has(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), static_cast<double>(cache_->match(chainOf(info[0]))));
}

/** leave(session, blocks, fence, drop) */
Napi::Value PrefixHandle::leave(const Napi::CallbackInfo& info) {
  const auto fence = static_cast<uint64_t>(numberOf(info[2]));
  const auto leaving = info[3].ToBoolean() ? PrefixCache::Leaving::kDrop : PrefixCache::Leaving::kKeep;
  cache_->leave(sessionOf(info[0]), toBlocks(info[1]), fence, leaving);
  cache_->enforceShare(fence);
  return info.Env().Undefined();
}

/** share(blocks, from, to) */
Napi::Value PrefixHandle::share(const Napi::CallbackInfo& info) {
  cache_->share(toBlocks(info[0]), sessionOf(info[1]), sessionOf(info[2]));
  return info.Env().Undefined();
}

Napi::Value PrefixHandle::claim(const Napi::CallbackInfo& info) {
  return Napi::Boolean::New(info.Env(), cache_->claim(static_cast<BlockId>(numberOf(info[0]))));
}

/** evict(wanted, coldOnly, fence) → how many went */
Napi::Value PrefixHandle::evict(const Napi::CallbackInfo& info) {
  const int64_t gone = cache_->evict(numberOf(info[0]), info[1].ToBoolean(), static_cast<uint64_t>(numberOf(info[2])));
  return Napi::Number::New(info.Env(), static_cast<double>(gone));
}

/** compact() → [from, to, …], followed by the cache */
Napi::Value PrefixHandle::compact(const Napi::CallbackInfo& info) {
  Napi::Array moves = Napi::Array::New(info.Env());
  for (const BlockMove& move : pool_->compact()) {
    cache_->relocate(move.from, move.to);
    moves.Set(moves.Length(), move.from);
    moves.Set(moves.Length(), move.to);
  }
  return moves;
}

/** advance(milliseconds) */
Napi::Value PrefixHandle::advance(const Napi::CallbackInfo& info) {
  clock_.advance(numberOf(info[0]) * 1000000);
  return info.Env().Undefined();
}

Napi::Value PrefixHandle::report(const Napi::CallbackInfo& info) {
  return makePrefix(info.Env(), cache_->report());
}

Napi::Value PrefixHandle::check(const Napi::CallbackInfo& info) {
  pool_->check();
  cache_->check();
  return info.Env().Undefined();
}

}  // namespace octavo::testing
