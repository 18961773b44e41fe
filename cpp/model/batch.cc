#include "model/batch.h"

#include <algorithm>
#include <limits>

#include "base/error.h"

namespace octavo {

namespace {

[[noreturn]] void refuse(size_t sequence, const std::string& problem) {
  throw Error(ErrorCode::kInternal, "batch, sequence " + std::to_string(sequence) + ": " + problem);
}

void requireAtMost(const char* what, size_t value, int32_t most) {
  if (value <= static_cast<size_t>(std::max(most, 0))) return;
  throw Error(ErrorCode::kInternal, std::string("batch: ") + std::to_string(value) + " " + what + ", planned for " +
                                        std::to_string(most));
}

int32_t blocksFor(int64_t tokens, int32_t blockSize) {
  return static_cast<int32_t>((tokens + blockSize - 1) / blockSize);
}

/** Guards of one sequence; returns its context length after the step. */
int32_t checkSequence(const BatchSequence& sequence, size_t index, int32_t blockSize, const BatchLimits& limits) {
  if (sequence.tokens.empty()) refuse(index, "has no tokens");
  if (sequence.start < 0) refuse(index, "starts at position " + std::to_string(sequence.start));
  if (sequence.blocks == nullptr) refuse(index, "has no block table");
  if (sequence.everyLogit && sequence.noLogit) refuse(index, "wants every logit and none");
  requireAtMost("tokens", sequence.tokens.size(), limits.maxTokens);
  const int64_t context = int64_t{sequence.start} + static_cast<int64_t>(sequence.tokens.size());
  const int64_t covered = std::min<int64_t>(static_cast<int64_t>(sequence.blocks->size()) * blockSize,
                                           std::numeric_limits<int32_t>::max());
  if (context > covered) {
    refuse(index, "needs " + std::to_string(context) + " tokens of KV, its " +
                      std::to_string(sequence.blocks->size()) + " blocks cover " + std::to_string(covered));
  }
  if (context > int64_t{limits.maxBlocksPerSequence} * blockSize) {
    refuse(index, "needs " + std::to_string(context) + " tokens of KV, planned for " +
                      std::to_string(limits.maxBlocksPerSequence) + " blocks of " + std::to_string(blockSize));
  }
  return static_cast<int32_t>(context);
}

void appendTokens(Batch& batch, const BatchSequence& sequence, size_t index, int32_t blockSize) {
  const auto length = static_cast<int32_t>(sequence.tokens.size());
  const auto first = static_cast<int32_t>(batch.tokens.size());
  for (int32_t offset = 0; offset < length; ++offset) {
    const int32_t position = sequence.start + offset;
    const BlockId block = (*sequence.blocks)[position / blockSize];
    if (block < 0) refuse(index, "lists block " + std::to_string(block));
    batch.tokens.push_back(sequence.tokens[offset]);
    batch.resolves = batch.resolves || sequence.tokens[offset] < 0;
    batch.positions.push_back(position);
    batch.slots.push_back(int64_t{block} * blockSize + position % blockSize);
    const bool last = offset + 1 == length;
    if (!sequence.noLogit && (last || sequence.everyLogit)) batch.logitRows.push_back(first + offset);
  }
  batch.queryStart.push_back(first + length);
  batch.contextLength.push_back(sequence.start + length);
  batch.maxQueryLength = std::max(batch.maxQueryLength, length);
  batch.maxContextLength = std::max(batch.maxContextLength, sequence.start + length);
}

}  // namespace

Batch Batch::build(const std::vector<BatchSequence>& sequences, int32_t blockSize, const BatchLimits& limits) {
  if (blockSize < 1) throw Error(ErrorCode::kInternal, "batch: blockSize is " + std::to_string(blockSize));
  requireAtMost("sequences", sequences.size(), limits.maxSequences);
  Batch batch;
  batch.reserve(sequences);
  batch.queryStart.push_back(0);
  for (size_t index = 0; index < sequences.size(); ++index) {
    const int32_t context = checkSequence(sequences[index], index, blockSize, limits);
    appendTokens(batch, sequences[index], index, blockSize);
    batch.tableStride = std::max(batch.tableStride, blocksFor(context, blockSize));
  }
  requireAtMost("tokens", batch.tokens.size(), limits.maxTokens);
  requireAtMost("logit rows", batch.logitRows.size(), limits.maxLogitRows);

  batch.blockTable.assign(sequences.size() * static_cast<size_t>(batch.tableStride), -1);
  for (size_t index = 0; index < sequences.size(); ++index) {
    const auto used = blocksFor(batch.contextLength[index], blockSize);
    std::copy_n(sequences[index].blocks->begin(), used,
                batch.blockTable.begin() + static_cast<ptrdiff_t>(index) * batch.tableStride);
  }
  return batch;
}

void Batch::reserve(const std::vector<BatchSequence>& sequences) {
  size_t rows = 0;
  for (const BatchSequence& sequence : sequences) rows += sequence.tokens.size();
  tokens.reserve(rows);
  positions.reserve(rows);
  slots.reserve(rows);
  queryStart.reserve(sequences.size() + 1);
  contextLength.reserve(sequences.size());
  logitRows.reserve(sequences.size());
}

void Batch::padTo(int32_t sequences) {
  const auto size = static_cast<size_t>(sequences);
  tokens.resize(size, 0);
  positions.resize(size, 0);
  slots.resize(size, -1);
  contextLength.resize(size, 0);
  blockTable.resize(size * static_cast<size_t>(tableStride), -1);
  for (auto row = static_cast<int32_t>(logitRows.size()); row < sequences; ++row) {
    logitRows.push_back(row);
    queryStart.push_back(row + 1);
  }
}

}  // namespace octavo
