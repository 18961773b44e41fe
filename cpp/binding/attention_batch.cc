#include "binding/attention_batch.h"

#include <algorithm>
#include <limits>

#include "base/error.h"

namespace octavo {

void refuse(const OpCall& call, const std::string& sentence) {
  throw Error(ErrorCode::kInvalidArgument, call.fields().path() + ": " + sentence);
}

std::string at(const char* name, int64_t index) { return std::string(name) + "[" + std::to_string(index) + "]"; }

void checkSlots(const OpCall& call, const std::vector<int64_t>& slots, int64_t end) {
  for (size_t t = 0; t < slots.size(); ++t) {
    if (slots[t] < end) continue;
    refuse(call, at("slots", t) + " is " + std::to_string(slots[t]) + ": the cache ends at " + std::to_string(end - 1));
  }
}

HostBatch::HostBatch(const OpCall& call, int64_t tokens, const BlockLimits& cache, int32_t window) {
  readSequences(call);
  readTable(call);
  checkStarts(call, tokens);
  for (int32_t s = 0; s < sequences; ++s) {
    checkLength(call, s);
    checkBlocks(call, s, cache, window);
  }
}

HostBatch::HostBatch(const OpCall& call, int64_t tokens) {
  readSequences(call);
  checkStarts(call, tokens);
  for (int32_t s = 0; s < sequences; ++s) checkLength(call, s);
}

AttentionBatch HostBatch::upload(Upload& to) const {
  AttentionBatch batch;
  batch.sequences = sequences;
  batch.tokens = queryStart.back();
  batch.queryStart = to.copy(queryStart);
  batch.contextLength = to.copy(contextLength);
  batch.blockTable = to.copy(blockTable);
  batch.tableStride = tableStride;
  batch.maxQueryLength = maxQueryLength;
  batch.maxContextLength = maxContextLength;
  return batch;
}

void HostBatch::readSequences(const OpCall& call) {
  queryStart = call.fields().int32s("queryStart");
  contextLength = call.fields().int32s("contextLength");
  if (contextLength.empty() || contextLength.size() > size_t{1} << 24) {
    refuse(call, "contextLength names " + std::to_string(contextLength.size()) + " sequences: expected 1 to 16777216");
  }
  sequences = static_cast<int32_t>(contextLength.size());
  call.requireEqual("queryStart.length", static_cast<int64_t>(queryStart.size()), "contextLength.length + 1",
                    sequences + 1);
}

void HostBatch::readTable(const OpCall& call) {
  blockTable = call.fields().int32s("blockTable");
  const size_t stride = blockTable.size() / contextLength.size();
  call.requireEqual("blockTable.length", static_cast<int64_t>(blockTable.size()), "a whole number of rows",
                    static_cast<int64_t>(stride * contextLength.size()));
  tableStride = static_cast<int32_t>(std::min<size_t>(stride, std::numeric_limits<int32_t>::max()));
}

void HostBatch::checkStarts(const OpCall& call, int64_t tokens) const {
  if (queryStart.front() != 0) {
    refuse(call, at("queryStart", 0) + " is " + std::to_string(queryStart.front()) + ": expected 0");
  }
  for (int32_t s = 0; s < sequences; ++s) {
    if (queryStart[s + 1] >= queryStart[s]) continue;
    refuse(call, at("queryStart", s + 1) + " is " + std::to_string(queryStart[s + 1]) + ", less than the " +
        std::to_string(queryStart[s]) + " before it");
  }
  if (queryStart.back() > tokens) {
    refuse(call, "queryStart ends at " + std::to_string(queryStart.back()) + ", query has " + std::to_string(tokens) +
        " tokens");
  }
}

void HostBatch::checkLength(const OpCall& call, int32_t s) {
  const int32_t length = queryStart[s + 1] - queryStart[s], context = contextLength[s];
  if (context < length) {
    refuse(call, at("contextLength", s) + " is " + std::to_string(context) + ", less than the sequence's " +
        std::to_string(length) + " query tokens");
  }
  maxQueryLength = std::max(maxQueryLength, length);
  maxContextLength = std::max(maxContextLength, context);
}

void HostBatch::checkBlocks(const OpCall& call, int32_t s, const BlockLimits& cache, int32_t window) const {
  const int64_t length = queryStart[s + 1] - queryStart[s], context = contextLength[s];
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

}  // namespace octavo
