#include "model/batch_input.h"

#include <cstring>

#include "base/error.h"

namespace octavo {

/**
 * Byte offsets of a batch's arrays, each aligned to 16; exactly as large as the batch at hand. The table is the last, so
 * that the others are where they are however wide it is.
 */
struct InputLayout {
  size_t tableStride, slots, tokens, positions, logitRows, queryStart, contextLength, blockTable, bytes;

  static InputLayout of(size_t tokens, size_t sequences, size_t logitRows, size_t tableEntries) {
    size_t at = 0;
    const auto take = [&at](size_t bytes) {
      const size_t place = at;
      at += (bytes + 15) / 16 * 16;
      return place;
    };
    InputLayout layout;
    layout.tableStride = take(sizeof(int32_t));
    layout.slots = take(tokens * sizeof(int64_t));
    layout.tokens = take(tokens * sizeof(int32_t));
    layout.positions = take(tokens * sizeof(int32_t));
    layout.logitRows = take(logitRows * sizeof(int32_t));
    layout.queryStart = take((sequences + 1) * sizeof(int32_t));
    layout.contextLength = take(sequences * sizeof(int32_t));
    layout.blockTable = take(tableEntries * sizeof(int32_t));
    layout.bytes = at;
    return layout;
  }
};

namespace {

constexpr Owner kEngine{OwnerKind::kEngine, 0};

template <typename T>
void put(void* image, size_t offset, const std::vector<T>& values) {
  if (!values.empty()) std::memcpy(static_cast<char*>(image) + offset, values.data(), values.size() * sizeof(T));
}

void put(void* image, size_t offset, int32_t value) {
  std::memcpy(static_cast<char*>(image) + offset, &value, sizeof value);
}

void checkBatch(const Batch& batch, const BatchLimits& limits) {
  const size_t sequences = batch.contextLength.size();
  const bool consistent = !batch.tokens.empty() && batch.positions.size() == batch.tokens.size() &&
                          batch.slots.size() == batch.tokens.size() && batch.queryStart.size() == sequences + 1 &&
                          batch.tableStride >= 1 && batch.blockTable.size() == sequences * batch.tableStride;
  if (!consistent) throw Error(ErrorCode::kInternal, "batch: its arrays disagree or it has no tokens");
  const auto within = [](size_t value, int32_t most) { return value <= static_cast<size_t>(most); };
  if (within(batch.tokens.size(), limits.maxTokens) && within(sequences, limits.maxSequences) &&
      within(batch.logitRows.size(), limits.maxLogitRows) && batch.tableStride <= limits.maxBlocksPerSequence) {
    return;
  }
  throw Error(ErrorCode::kInternal,
              "batch: " + std::to_string(batch.tokens.size()) + " tokens, " + std::to_string(sequences) +
                  " sequences of " + std::to_string(batch.tableStride) + " blocks, " +
                  std::to_string(batch.logitRows.size()) + " logit rows; planned for " +
                  std::to_string(limits.maxTokens) + ", " + std::to_string(limits.maxSequences) + " of " +
                  std::to_string(limits.maxBlocksPerSequence) + ", " + std::to_string(limits.maxLogitRows));
}

}  // namespace

size_t BatchInput::plannedBytes(const BatchLimits& limits) {
  const auto sequences = static_cast<size_t>(limits.maxSequences);
  return InputLayout::of(limits.maxTokens, sequences, limits.maxLogitRows,
                         sequences * static_cast<size_t>(limits.maxBlocksPerSequence))
      .bytes;
}

size_t BatchInput::pinnedBytes(const BatchLimits& limits) {
  return plannedBytes(limits) * static_cast<size_t>(limits.stepsAtOnce);
}

BatchInput::BatchInput(DeviceAllocator& allocator, const BatchLimits& limits) : limits_(limits) {
  memory_ = allocator.allocate(Region::kGraph, plannedBytes(limits), kEngine, "batch.input");
  images_ = allocator.allocate(Region::kPinned, pinnedBytes(limits), kEngine, "batch.upload");
  if (limits.graphs) table_ = allocator.allocate(Region::kGraph, tableBytes(limits), kEngine, "graphs.table");
}

size_t BatchInput::tableBytes(const BatchLimits& limits) {
  if (!limits.graphs) return 0;
  return static_cast<size_t>(limits.maxSequences) * static_cast<size_t>(limits.maxBlocksPerSequence) * sizeof(int32_t);
}

namespace {

InputLayout layoutOf(const Batch& batch) {
  return InputLayout::of(batch.tokens.size(), batch.contextLength.size(), batch.logitRows.size(),
                         batch.blockTable.size());
}

template <typename T>
T* at(const void* image, size_t offset) {
  return reinterpret_cast<T*>(static_cast<char*>(const_cast<void*>(image)) + offset);
}

DeviceBatch placed(const void* image, const InputLayout& layout) {
  DeviceBatch batch;
  batch.slots = at<int64_t>(image, layout.slots);
  batch.tokens = at<int32_t>(image, layout.tokens);
  batch.positions = at<int32_t>(image, layout.positions);
  batch.logitRows = at<int32_t>(image, layout.logitRows);
  return batch;
}

}  // namespace

size_t BatchInput::decodeBytes(const BatchLimits& limits) {
  const auto sequences = static_cast<size_t>(limits.maxSequences);
  return InputLayout::of(sequences, sequences, sequences, sequences * static_cast<size_t>(limits.maxBlocksPerSequence))
      .bytes;
}

size_t BatchInput::packedBytes(const Batch& batch) { return layoutOf(batch).bytes; }

void BatchInput::pack(const Batch& batch, void* image) const {
  checkBatch(batch, limits_);
  const InputLayout layout = layoutOf(batch);
  put(image, layout.tableStride, batch.tableStride);
  put(image, layout.slots, batch.slots);
  put(image, layout.tokens, batch.tokens);
  put(image, layout.positions, batch.positions);
  put(image, layout.logitRows, batch.logitRows);
  put(image, layout.queryStart, batch.queryStart);
  put(image, layout.contextLength, batch.contextLength);
  put(image, layout.blockTable, batch.blockTable);
}

DeviceBatch BatchInput::upload(const Batch& batch, Device& device, Stream& stream) {
  char* const image = static_cast<char*>(images_.data()) + static_cast<size_t>(next_) * plannedBytes(limits_);
  pack(batch, image);
  next_ = (next_ + 1) % limits_.stepsAtOnce;
  const InputLayout layout = layoutOf(batch);
  device.copy(memory_.data(), image, layout.bytes, CopyKind::kHostToDevice, stream);

  const void* const memory = memory_.data();
  DeviceBatch uploaded = placed(memory, layout);
  uploaded.attention = {static_cast<int32_t>(batch.contextLength.size()),
                        static_cast<int32_t>(batch.tokens.size()),
                        at<int32_t>(memory, layout.queryStart),
                        at<int32_t>(memory, layout.contextLength),
                        at<int32_t>(memory, layout.blockTable),
                        batch.tableStride,
                        batch.maxQueryLength,
                        batch.maxContextLength};
  return uploaded;
}

DeviceBatch BatchInput::decodes(const void* image, int32_t sequences, int32_t mostContext, Ops& ops, Stream& stream) {
  const auto rows = static_cast<size_t>(sequences);
  const InputLayout layout = InputLayout::of(rows, rows, rows, 0);
  auto* const table = static_cast<int32_t*>(table_.data());
  const int32_t width = limits_.maxBlocksPerSequence;
  ops.widenRows(table, width, at<int32_t>(image, layout.blockTable), at<int32_t>(image, layout.tableStride), sequences,
                stream);
  DeviceBatch batch = placed(image, layout);
  batch.attention = {sequences, sequences, at<int32_t>(image, layout.queryStart),
                     at<int32_t>(image, layout.contextLength), table, width, 1, mostContext};
  return batch;
}

}  // namespace octavo
