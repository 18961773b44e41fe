// Argument checks of rope and pagedAttention: nothing out of range reaches a kernel.
#include <limits>

#include "binding/attention_batch.h"
#include "binding/ops_binding.h"
#include "ops/attention_scratch.h"

namespace octavo {

namespace {

constexpr double kLargestFloat = std::numeric_limits<float>::max();

/** fp32 of one number a head, or absent. */
const float* readSinks(const OpCall& call, const Heads& query) {
  const Vector sinks = call.vector("sinks", true);
  if (!sinks.data) return nullptr;
  if (sinks.dtype != DType::kF32) refuse(call, std::string("sinks is ") + dtypeName(sinks.dtype) + ": expected fp32");
  call.requireEqual("sinks.size", sinks.size, "query.heads", query.heads);
  return static_cast<const float*>(sinks.data);
}

/** fp32 [tokens, heads] without gaps, or absent. */
float* readLogSumExp(const OpCall& call, const Heads& query) {
  if (!call.fields().has("logSumExp")) return nullptr;
  const Matrix sums = call.matrix("logSumExp");
  if (sums.dtype != DType::kF32) refuse(call, std::string("logSumExp is ") + dtypeName(sums.dtype) + ": expected fp32");
  call.requireEqual("logSumExp.rows", sums.rows, "query.tokens", query.tokens);
  call.requireEqual("logSumExp.columns", sums.columns, "query.heads", query.heads);
  call.requireEqual("logSumExp.stride", sums.stride, "query.heads", query.heads);
  return static_cast<float*>(sums.data);
}

AttentionVariant readVariant(const OpCall& call, const Heads& query) {
  const Fields& fields = call.fields();
  AttentionVariant variant;
  variant.window = static_cast<int32_t>(fields.integer("window", 0, std::numeric_limits<int32_t>::max()));
  variant.softCap = static_cast<float>(fields.number("softCap", 0, kLargestFloat));
  variant.sinks = readSinks(call, query);
  variant.logSumExp = readLogSumExp(call, query);
  variant.keyScale = readScale(call, "keyScale");
  variant.valueScale = readScale(call, "valueScale");
  return variant;
}

}  // namespace

RopeArguments readRope(const OpCall& call, const Heads& query, const Heads& key) {
  RopeArguments rope;
  rope.positions = call.fields().int32s("positions");
  rope.inverseFrequencies = call.fields().floats("inverseFrequencies");
  rope.magnitude = static_cast<float>(call.fields().number("magnitude", -kLargestFloat, kLargestFloat));
  const auto pairs = static_cast<int64_t>(rope.inverseFrequencies.size());
  call.requireEqual("query.tokens", query.tokens, "key.tokens", key.tokens);
  call.requireEqual("query.dim", query.dim, "key.dim", key.dim);
  call.requireEqual("query.tokens", query.tokens, "positions.length", static_cast<int64_t>(rope.positions.size()));
  call.requireEqual("2 * inverseFrequencies.length", 2 * pairs, "query.dim", query.dim);
  return rope;
}

Napi::Value callRope(Napi::Env env, const OpCall& call) {
  const Heads query = call.heads("query"), key = call.heads("key");
  const RopeArguments rope = readRope(call, query, key);
  Upload upload(call.device());
  const int32_t* positions = upload.copy(rope.positions);
  call.ops().rope(query, key, positions, upload.copy(rope.inverseFrequencies), rope.magnitude, call.stream());
  return env.Undefined();
}

namespace {

/** Checks what attention of `query` is given besides, and has `launch` launched with it. */
template <typename Launch>
void attend(const OpCall& call, Upload& upload, const Heads& query, const KvCacheView& cache, const Launch& launch) {
  const Heads out = call.heads("out");
  const AttentionVariant variant = readVariant(call, query);
  const auto scale = static_cast<float>(call.fields().number("scale", -kLargestFloat, kLargestFloat));
  call.requireEqual("out.tokens", out.tokens, "query.tokens", query.tokens);
  call.requireEqual("out.heads", out.heads, "query.heads", query.heads);
  call.requireEqual("out.dim", out.dim, "query.dim", query.dim);
  call.requireEqual("query.dim", query.dim, "cache.headDim", cache.headDim);
  call.requireEqual("query.heads modulo cache.kvHeads", query.heads % cache.kvHeads, "a whole group", 0);
  const HostBatch host(call, query.tokens, {cache.blocks, cache.blockSize}, variant.window);

  const AttentionBatch batch = host.upload(upload);
  AttentionScratch scratch{nullptr, batch.sequences, batch.maxContextLength};
  const AttentionShape shape{cache.dtype, query.heads, cache.kvHeads, cache.headDim};
  if (!call.device().device().sharesHostMemory()) {
    const AttentionScratchLayout layout(shape, scratch.maxSequences, scratch.maxContextLength);
    scratch.data = upload.zeros(layout.bytes);
  }
  launch(out, batch, scale, variant, scratch);
}

}  // namespace

Napi::Value callPagedAttention(Napi::Env env, const OpCall& call) {
  const Heads query = call.heads("query");
  const KvCacheView cache = call.cache("cache");
  const auto layer = static_cast<int32_t>(call.fields().integer("layer", 0, cache.layers - 1));
  Upload upload(call.device());
  attend(call, upload, query, cache,
         [&](const Heads& out, const AttentionBatch& batch, float scale, const AttentionVariant& variant,
             const AttentionScratch& scratch) {
           call.ops().pagedAttention(out, query, cache, layer, batch, scale, variant, scratch, call.stream());
         });
  return env.Undefined();
}

Napi::Value callRopeAttention(Napi::Env env, const OpCall& call) {
  Upload upload(call.device());
  const RopeStep step = readRopeStep(call, upload);
  attend(call, upload, step.write.query, step.cache,
         [&](const Heads& out, const AttentionBatch& batch, float scale, const AttentionVariant& variant,
             const AttentionScratch& scratch) {
           call.ops().ropeAttention(out, step.write, step.cache, step.layer, batch, scale, variant, scratch,
                                    call.stream());
         });
  return env.Undefined();
}

}  // namespace octavo
