// Argument checks of rope, kvWrite and pagedAttention: nothing out of range reaches a kernel.
#include <algorithm>
#include <limits>

#include "base/error.h"
#include "binding/ops_binding.h"
#include "binding/ops_upload.h"
#include "ops/attention_scratch.h"

namespace octavo {

namespace {

constexpr double kLargestFloat = std::numeric_limits<float>::max();

[[noreturn]] void refuse(const OpCall& call, const std::string& sentence) {
  throw Error(ErrorCode::kInvalidArgument, call.fields().path() + ": " + sentence);
}

std::string at(const char* name, int64_t index) { return std::string(name) + "[" + std::to_string(index) + "]"; }

/** The host arrays of an AttentionBatch, checked against the query and the cache. */
struct HostBatch {
  std::vector<int32_t> queryStart, contextLength, blockTable;
  int32_t sequences = 0, tableStride = 0, maxQueryLength = 0, maxContextLength = 0;

  HostBatch(const OpCall& call, int64_t tokens, const KvCacheView& cache, int32_t window) {
    queryStart = call.fields().int32s("queryStart");
    contextLength = call.fields().int32s("contextLength");
    blockTable = call.fields().int32s("blockTable");
    if (contextLength.empty() || contextLength.size() > size_t{1} << 24) {
      refuse(call, "contextLength names " + std::to_string(contextLength.size()) + " sequences: expected 1 to 16777216");
    }
    sequences = static_cast<int32_t>(contextLength.size());
    call.requireEqual("queryStart.length", static_cast<int64_t>(queryStart.size()), "contextLength.length + 1",
                      sequences + 1);
    const size_t stride = blockTable.size() / contextLength.size();
    call.requireEqual("blockTable.length", static_cast<int64_t>(blockTable.size()), "a whole number of rows",
                      static_cast<int64_t>(stride * contextLength.size()));
    tableStride = static_cast<int32_t>(std::min<size_t>(stride, std::numeric_limits<int32_t>::max()));
    checkStarts(call, tokens);
    for (int32_t s = 0; s < sequences; ++s) checkSequence(call, s, cache, window);
  }

 private:
  void checkStarts(const OpCall& call, int64_t tokens) const {
    if (queryStart.front() != 0) refuse(call, at("queryStart", 0) + " is " + std::to_string(queryStart.front()) + ": expected 0");
    for (int32_t s = 0; s < sequences; ++s) {
      if (queryStart[s + 1] >= queryStart[s]) continue;
      refuse(call, at("queryStart", s + 1) + " is " + std::to_string(queryStart[s + 1]) + ", less than the " +
          std::to_string(queryStart[s]) + " before it");
    }
    if (queryStart.back() > tokens) {
      refuse(call, "queryStart ends at " + std::to_string(queryStart.back()) + ", query has " + std::to_string(tokens) + " tokens");
    }
  }

  void checkSequence(const OpCall& call, int32_t s, const KvCacheView& cache, int32_t window) {
    const int64_t length = queryStart[s + 1] - queryStart[s], context = contextLength[s];
    if (context < length) {
      refuse(call, at("contextLength", s) + " is " + std::to_string(context) + ", less than the sequence's " +
          std::to_string(length) + " query tokens");
    }
    maxQueryLength = std::max(maxQueryLength, static_cast<int32_t>(length));
    maxContextLength = std::max(maxContextLength, contextLength[s]);
    if (length == 0) return;
    const int64_t blocks = (context + cache.blockSize - 1) / cache.blockSize;
    if (blocks > tableStride) {
      refuse(call, "a context of " + std::to_string(context) + " tokens needs " + std::to_string(blocks) +
          " blocks of " + std::to_string(cache.blockSize) + ", a row of blockTable has " + std::to_string(tableStride));
    }
    const int64_t firstKey = window > 0 ? std::max<int64_t>(0, context - length - window + 1) : 0;
    for (int64_t b = firstKey / cache.blockSize; b < blocks; ++b) {
      const int64_t index = s * static_cast<int64_t>(tableStride) + b;
      if (blockTable[index] >= 0 && blockTable[index] < cache.blocks) continue;
      refuse(call, at("blockTable", index) + " is " + std::to_string(blockTable[index]) + ": expected 0 to " +
          std::to_string(cache.blocks - 1));
    }
  }
};

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
  for (size_t t = 0; t < slots.size(); ++t) {
    if (slots[t] < cache.blocks * cache.blockSize) continue;
    refuse(call, at("slots", t) + " is " + std::to_string(slots[t]) + ": the cache ends at " +
        std::to_string(cache.blocks * cache.blockSize - 1));
  }
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
  const HostBatch host(call, query.tokens, cache, window);

  Upload upload(call.device());
  AttentionBatch batch;
  batch.sequences = host.sequences;
  batch.tokens = host.queryStart.back();
  batch.queryStart = upload.copy(host.queryStart);
  batch.contextLength = upload.copy(host.contextLength);
  batch.blockTable = upload.copy(host.blockTable);
  batch.tableStride = host.tableStride;
  batch.maxQueryLength = host.maxQueryLength;
  batch.maxContextLength = host.maxContextLength;
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
