// Argument checks of multi-head latent attention: nothing out of range reaches a kernel.
#include <limits>

#include "base/error.h"
#include "binding/attention_batch.h"
#include "binding/ops_binding.h"
#include "ops/latent_scratch.h"

namespace octavo {

namespace {

constexpr double kLargestFloat = std::numeric_limits<float>::max();

int32_t readLayer(const OpCall& call, const LatentCacheView& cache) {
  return static_cast<int32_t>(call.fields().integer("layer", 0, cache.layers - 1));
}

float readScale(const OpCall& call) {
  return static_cast<float>(call.fields().number("scale", -kLargestFloat, kLargestFloat));
}

/** Rows of a matrix with a slot each. */
std::vector<int64_t> readSlots(const OpCall& call, const char* name, const Matrix& rows, const LatentCacheView& cache) {
  const std::string own(name);
  std::vector<int64_t> slots = call.fields().int64s("slots");
  call.requireEqual((own + ".rows").c_str(), rows.rows, "slots.length", static_cast<int64_t>(slots.size()));
  call.requireEqual((own + ".columns").c_str(), rows.columns, "cache.width", cache.width);
  checkSlots(call, slots, cache.blocks * cache.blockSize);
  return slots;
}

void requireSameRows(const OpCall& call, const Heads& out, const Heads& query) {
  call.requireEqual("out.tokens", out.tokens, "query.tokens", query.tokens);
  call.requireEqual("out.heads", out.heads, "query.heads", query.heads);
}

/** The rows in which each sequence's keys begin, all of them within the `keys` there are. */
std::vector<int32_t> readKeyStart(const OpCall& call, const HostBatch& host, int64_t keys) {
  std::vector<int32_t> starts = call.fields().int32s("keyStart");
  call.requireEqual("keyStart.length", static_cast<int64_t>(starts.size()), "contextLength.length", host.sequences);
  for (int32_t s = 0; s < host.sequences; ++s) {
    const int64_t end = int64_t{starts[s]} + host.contextLength[s];
    if (starts[s] >= 0 && end <= keys) continue;
    refuse(call, at("keyStart", s) + " is " + std::to_string(starts[s]) + ": with " +
        std::to_string(host.contextLength[s]) + " keys it ends at " + std::to_string(end) + ", keyValue has " +
        std::to_string(keys));
  }
  return starts;
}

}  // namespace

Napi::Value callLatentWrite(Napi::Env env, const OpCall& call) {
  const LatentCacheView cache = call.latentCache("cache");
  const Matrix rows = call.matrix("rows");
  const int32_t layer = readLayer(call, cache);
  const std::vector<int64_t> slots = readSlots(call, "rows", rows, cache);
  Upload upload(call.device());
  call.ops().latentWrite(cache, layer, rows, upload.copy(slots), call.stream());
  return env.Undefined();
}

Napi::Value callLatentRead(Napi::Env env, const OpCall& call) {
  const LatentCacheView cache = call.latentCache("cache");
  const Matrix out = call.matrix("out");
  const int32_t layer = readLayer(call, cache);
  const std::vector<int64_t> slots = readSlots(call, "out", out, cache);
  Upload upload(call.device());
  call.ops().latentRead(out, cache, layer, upload.copy(slots), call.stream());
  return env.Undefined();
}

Napi::Value callLatentAttention(Napi::Env env, const OpCall& call) {
  const Heads out = call.heads("out"), query = call.heads("query");
  const LatentCacheView cache = call.latentCache("cache");
  const int32_t layer = readLayer(call, cache);
  const float scale = readScale(call);
  requireSameRows(call, out, query);
  call.requireEqual("query.dim", query.dim, "cache.width", cache.width);
  if (out.dim > cache.width) {
    refuse(call, "out.dim is " + std::to_string(out.dim) + ": values are a part of the cache's rows of " +
        std::to_string(cache.width));
  }
  const HostBatch host(call, query.tokens, {cache.blocks, cache.blockSize}, 0);
  Upload upload(call.device());
  const AttentionBatch batch = host.upload(upload);
  AttentionScratch scratch{nullptr, batch.sequences, batch.maxContextLength};
  if (!call.device().device().sharesHostMemory()) {
    const LatentShape shape{cache.dtype, query.heads, out.dim, cache.width};
    const LatentScratchLayout layout(shape, scratch.maxSequences, scratch.maxContextLength);
    scratch.data = upload.zeros(layout.bytes);
  }
  call.ops().latentAttention(out, query, cache, layer, batch, scale, scratch, call.stream());
  return env.Undefined();
}

Napi::Value callExpandedAttention(Napi::Env env, const OpCall& call) {
  const Heads out = call.heads("out"), query = call.heads("query");
  ExpandedKeys keys{call.heads("keyValue"), call.matrix("ropeKey"), nullptr};
  const float scale = readScale(call);
  requireSameRows(call, out, query);
  call.requireEqual("keyValue.heads", keys.keyValue.heads, "query.heads", query.heads);
  call.requireEqual("keyValue.tokens", keys.keyValue.tokens, "ropeKey.rows", keys.ropeKey.rows);
  if (keys.ropeKey.columns > query.dim) {
    refuse(call, "ropeKey.columns is " + std::to_string(keys.ropeKey.columns) + ", more than query.dim, " +
        std::to_string(query.dim));
  }
  if (query.dim > kMaxLatentWidth || out.dim > kMaxLatentWidth) {
    refuse(call, "query.dim is " + std::to_string(query.dim) + " and out.dim " + std::to_string(out.dim) +
        ": at most " + std::to_string(kMaxLatentWidth));
  }
  call.requireEqual("keyValue.dim", keys.keyValue.dim, "query.dim - ropeKey.columns + out.dim",
                    query.dim - keys.ropeKey.columns + out.dim);
  const HostBatch host(call, query.tokens);
  const std::vector<int32_t> starts = readKeyStart(call, host, keys.keyValue.tokens);
  Upload upload(call.device());
  const AttentionBatch batch = host.upload(upload);
  keys.keyStart = upload.copy(starts);
  call.ops().expandedAttention(out, query, keys, batch, scale, call.stream());
  return env.Undefined();
}

}  // namespace octavo
