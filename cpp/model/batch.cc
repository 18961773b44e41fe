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

}  // namespace

/** Where the next sequence goes. */
struct Batch::Place {
  size_t sequence = 0, token = 0, logitRow = 0;
};

Batch Batch::build(const std::vector<BatchSequence>& sequences, int32_t blockSize, const BatchLimits& limits) {
  Batch batch;
  batch.rebuild(sequences, blockSize, limits);
  return batch;
}

void Batch::rebuild(const std::vector<BatchSequence>& sequences, int32_t blockSize, const BatchLimits& limits) {
  if (blockSize < 1) throw Error(ErrorCode::kInternal, "batch: blockSize is " + std::to_string(blockSize));
  requireAtMost("sequences", sequences.size(), limits.maxSequences);
  resize(sequences, blockSize, limits);
  Place place;
  queryStart[0] = 0;
  for (const BatchSequence& sequence : sequences) fill(sequence, blockSize, place);
}

/** Checks all sequences, and gives every array its length. */
void Batch::resize(const std::vector<BatchSequence>& sequences, int32_t blockSize, const BatchLimits& limits) {
  size_t rows = 0, wanted = 0;
  maxContextLength = maxQueryLength = 0;
  for (size_t index = 0; index < sequences.size(); ++index) {
    const BatchSequence& sequence = sequences[index];
    const size_t length = sequence.tokens.size();
    maxContextLength = std::max(maxContextLength, checkSequence(sequence, index, blockSize, limits));
    maxQueryLength = std::max(maxQueryLength, static_cast<int32_t>(length));
    rows += length;
    wanted += sequence.everyLogit ? length : sequence.noLogit ? 0 : 1;
  }
  requireAtMost("tokens", rows, limits.maxTokens);
  requireAtMost("logit rows", wanted, limits.maxLogitRows);
  tableStride = blocksFor(maxContextLength, blockSize);
  resolves = false;
  tokens.resize(rows);
  positions.resize(rows);
  slots.resize(rows);
  queryStart.resize(sequences.size() + 1);
  contextLength.resize(sequences.size());
  logitRows.resize(wanted);
  blockTable.resize(sequences.size() * static_cast<size_t>(tableStride));
}

void Batch::fill(const BatchSequence& sequence, int32_t blockSize, Place& place) {
  const auto length = static_cast<int32_t>(sequence.tokens.size());
  const BlockId* const blocks = sequence.blocks->data();
  int32_t block = sequence.start / blockSize, offset = sequence.start - block * blockSize;
  for (int32_t index = 0; index < length; ++index) {
    if (blocks[block] < 0) refuse(place.sequence, "lists block " + std::to_string(blocks[block]));
    const int32_t token = sequence.tokens[index];
    const size_t row = place.token + index;
    tokens[row] = token;
    resolves = resolves || token < 0;
    positions[row] = sequence.start + index;
    slots[row] = int64_t{blocks[block]} * blockSize + offset;
    if (sequence.everyLogit) logitRows[place.logitRow++] = static_cast<int32_t>(row);
    if (++offset == blockSize) {
      offset = 0;
      ++block;
    }
  }
  place.token += sequence.tokens.size();
  if (!sequence.everyLogit && !sequence.noLogit) logitRows[place.logitRow++] = static_cast<int32_t>(place.token) - 1;
  const int32_t context = sequence.start + length;
  contextLength[place.sequence] = context;
  queryStart[++place.sequence] = static_cast<int32_t>(place.token);
  const auto used = static_cast<size_t>(block) + (offset > 0 ? 1 : 0);
  const auto entries = blockTable.begin() + static_cast<ptrdiff_t>((place.sequence - 1) * tableStride);
  std::fill(std::copy_n(blocks, used, entries), entries + tableStride, -1);
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
