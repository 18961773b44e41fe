#include "binding/testing/prefix_calls.h"

#include <cstring>

#include "binding/arguments.h"
#include "binding/testing/handle.h"
#include "kv/prefix_hash.h"

namespace octavo::testing {

namespace {

PrefixHasher hasherOf(const Napi::Value& value) {
  const auto bytes = value.As<Napi::Uint8Array>();
  PrefixHasher::Key key;
  std::memcpy(&key, bytes.Data(), sizeof key);
  return PrefixHasher(key);
}

Napi::Value toBytes(Napi::Env env, const PrefixHash& hash) {
  auto bytes = Napi::Uint8Array::New(env, sizeof hash);
  std::memcpy(bytes.Data(), &hash, sizeof hash);
  return bytes;
}

/** prefixHash(key, bytes) → 16 bytes */
Napi::Value prefixHash(const Napi::CallbackInfo& info) {
  const auto bytes = info[1].As<Napi::Uint8Array>();
  const std::string_view text(reinterpret_cast<const char*>(bytes.Data()), bytes.ByteLength());
  return toBytes(info.Env(), hasherOf(info[0]).hash(text));
}

/** prefixChain(key, { model, tenant, blockSize, tokens }) → 16 bytes a full block */
Napi::Value prefixChain(const Napi::CallbackInfo& info) {
  const PrefixHasher hasher = hasherOf(info[0]);
  const Fields from(info[1], "chain");
  const std::vector<int32_t> tokens = from.int32s("tokens");
  const auto size = static_cast<size_t>(from.int32("blockSize"));
  PrefixHash hash = hasher.root(from.text("model"), from.text("tenant"));
  Napi::Array chain = Napi::Array::New(info.Env());
  for (size_t at = 0; at + size <= tokens.size(); at += size) {
    hash = hasher.next(hash, std::span(tokens).subspan(at, size));
    chain.Set(chain.Length(), toBytes(info.Env(), hash));
  }
  return chain;
}

}  // namespace

void definePrefixCalls(Napi::Env env, Napi::Object testing) {
  testing.Set("prefixHash", Napi::Function::New<call<prefixHash>>(env));
  testing.Set("prefixChain", Napi::Function::New<call<prefixChain>>(env));
}

}  // namespace octavo::testing
