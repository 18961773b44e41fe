#include "ops/cpu/attention_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace octavo::cpu {

namespace {

constexpr float kLowest = -std::numeric_limits<float>::infinity();

int64_t wholeColumns(int64_t keys) { return (keys + kTileColumns - 1) / kTileColumns * kTileColumns; }

}  // namespace

AttentionRows::AttentionRows(int64_t rows, int64_t keyDim, int64_t valueDim, int64_t keysPerRun, bool hasValues)
    : rows_(rows),
      keyDim_(keyDim),
      valueDim_(valueDim),
      keyWidth_(padded(keyDim)),
      valueWidth_(padded(valueDim)),
      keysPerRun_(wholeColumns(keysPerRun)),
      valueStride_(hasValues ? valueWidth_ : keyWidth_) {
  query_ = scratch(ScratchUse::kQuery, rows * keyWidth_);
  keys_ = scratch(ScratchUse::kKey, keysPerRun_ * keyWidth_);
  values_ = hasValues ? scratch(ScratchUse::kValue, keysPerRun_ * valueWidth_) : keys_;
  scores_ = scratch(ScratchUse::kScores, rows * keysPerRun_);
  sums_ = scratch(ScratchUse::kSums, rows * (valueWidth_ + 2));
  largest_ = sums_ + rows * valueWidth_;
  totals_ = largest_ + rows;
  std::fill(sums_, sums_ + rows * valueWidth_, 0.0f);
  std::fill(largest_, largest_ + rows, kLowest);
  std::fill(totals_, totals_ + rows, 0.0f);
}

void AttentionRows::setQuery(int64_t row, const void* from, DType dtype) const {
  float* const to = query_ + row * keyWidth_;
  rowKernels().load(to, from, dtype, keyDim_);
  std::fill(to + keyDim_, to + keyWidth_, 0.0f);
}

void AttentionRows::setKey(int64_t key, int64_t first, int64_t count, const void* from, DType dtype) const {
  float* const to = keys_ + key * keyWidth_;
  rowKernels().load(to + first, from, dtype, count);
  if (first + count == keyDim_) std::fill(to + keyDim_, to + keyWidth_, 0.0f);
}

void AttentionRows::setValue(int64_t key, const void* from, DType dtype) const {
  float* const to = values_ + key * valueStride_;
  rowKernels().load(to, from, dtype, valueDim_);
  std::fill(to + valueDim_, to + valueWidth_, 0.0f);
}

void AttentionRows::score(int64_t keys) const {
  const int64_t columns = wholeColumns(keys);
  std::fill(keys_ + keys * keyWidth_, keys_ + columns * keyWidth_, 0.0f);
  rowKernels().tile(scores_, keysPerRun_, query_, keyWidth_, rows_, keys_, keyWidth_, columns, keyWidth_, false);
}

void AttentionRows::add(int64_t row, int64_t visible, float scale) const {
  if (visible <= 0) return;
  float* const weights = scores_ + row * keysPerRun_;
  rowKernels().scale(weights, scale, visible);
  const float largest = std::max(largest_[row], rowKernels().maximum(weights, visible));
  const float shift = largest == kLowest ? 0.0f : largest;
  const float correction = std::exp(largest_[row] - shift);
  const float total = rowKernels().exponentials(weights, shift, visible);
  totals_[row] = totals_[row] * correction + total;
  largest_[row] = largest;
  rowKernels().weightedSum(sums_ + row * valueWidth_, correction, weights, values_, valueStride_, visible,
                           valueWidth_);
}

void AttentionRows::store(int64_t row, void* to, DType dtype) const {
  float* const sum = sums_ + row * valueWidth_;
  rowKernels().scale(sum, 1.0f / totals_[row], valueDim_);
  rowKernels().store(to, dtype, sum, valueDim_);
}

}  // namespace octavo::cpu
