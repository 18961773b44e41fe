// Argument checks of rope, kvWrite and pagedAttention: nothing out of range reaches a kernel.
#include <limits>

#include "binding/attention_batch.h"
#include "binding/ops_binding.h"
#include "ops/attention_scratch.h"

namespace octavo {

namespace {

constexpr double kLargestFloat = std::numeric_limits<float>::max();

int32_t readLayer(const OpCall& call, const KvCacheView& cache) {
  return static_cast<int32_t>(call.fields().integer("layer", 0, cache.layers - 1));
}

}  // namespace

Napi::Value callRope(Napi::Env env, const OpCall& call) {
  const Heads query = call.heads("query"), key = call.heads("key");
  const std::vector<int32_t> positions = call.fields().int32s("positions");
  const std::vector<float> frequencies = call.fields().floats("inverseFrequencies");
  const double magnitude = call.fields().number("magnitude", -kLargestFloat, kLargestFloat);
  call.requireEqual("query.tokens", query.tokens, "key.tokens", key.tokens);
  call.requireEqual("query.dim", query.dim, "key.dim", key.dim);
  call.requireEqual("query.tokens", query.tokens, "positions.length", static_cast<int64_t>(positions.size()));
  call.requireEqual("2 * inverseFrequencies.length", 2 * static_cast<int64_t>(frequencies.size()), "query.dim", query.dim);
  Upload upload(call.device());
  const int32_t* devicePositions = upload.copy(positions);
  call.ops().rope(query, key, devicePositions, upload.copy(frequencies), static_cast<float>(magnitude), call.stream());
  return env.Undefined();
}

Napi::Value callKvWrite(Napi::Env env, const OpCall& call) {
  const KvCacheView cache = call.cache("cache");
  const Heads key = call.heads("key"), value = call.heads("value");
  const std::vector<int64_t> slots = call.fields().int64s("slots");
  const int32_t layer = readLayer(call, cache);
  call.requireEqual("key.tokens", key.tokens, "slots.length", static_cast<int64_t>(slots.size()));
  call.requireEqual("value.tokens", value.tokens, "slots.length", static_cast<int64_t>(slots.size()));
  call.requireEqual("key.heads", key.heads, "cache.kvHeads", cache.kvHeads);
  call.requireEqual("value.heads", value.heads, "cache.kvHeads", cache.kvHeads);
  call.requireEqual("key.dim", key.dim, "cache.headDim", cache.headDim);
  call.requireEqual("value.dim", value.dim, "cache.headDim", cache.headDim);
  checkSlots(call, slots, cache.blocks * cache.blockSize);
  Upload upload(call.device());
  call.ops().kvWrite(cache, layer, key, value, upload.copy(slots), call.stream());
  return env.Undefined();
}

Napi::Value callPagedAttention(Napi::Env env, const OpCall& call) {
  const Heads out = call.heads("out"), query = call.heads("query");
  const KvCacheView cache = call.cache("cache");
  const int32_t layer = readLayer(call, cache);
  const auto window = static_cast<int32_t>(call.fields().integer("window", 0, std::numeric_limits<int32_t>::max()));
  const double scale = call.fields().number("scale", -kLargestFloat, kLargestFloat);
  call.requireEqual("out.tokens", out.tokens, "query.tokens", query.tokens);
  call.requireEqual("out.heads", out.heads, "query.heads", query.heads);
  call.requireEqual("out.dim", out.dim, "query.dim", query.dim);
  call.requireEqual("query.dim", query.dim, "cache.headDim", cache.headDim);
  call.requireEqual("query.heads modulo cache.kvHeads", query.heads % cache.kvHeads, "a whole group", 0);
  const HostBatch host(call, query.tokens, {cache.blocks, cache.blockSize}, window);

  Upload upload(call.device());
  const AttentionBatch batch = host.upload(upload);
  AttentionScratch scratch{nullptr, batch.sequences, batch.maxContextLength};
  const AttentionShape shape{cache.dtype, query.heads, cache.kvHeads, cache.headDim};
  if (!call.device().device().sharesHostMemory()) {
    const AttentionScratchLayout layout(shape, scratch.maxSequences, scratch.maxContextLength);
    scratch.data = upload.zeros(layout.bytes);
  }
  call.ops().pagedAttention(out, query, cache, layer, batch, static_cast<float>(scale), window, scratch,
                            call.stream());
  return env.Undefined();
}

}  // namespace octavo
