// Some rows of queries over one run of keys after the other, by online softmax (Milakov & Gimelshein,
// arXiv:1805.02867). A row's arithmetic depends on its own keys and where runs begin alone, not on the other rows.
#pragma once

#include "ops/cpu/access.h"
#include "ops/cpu/scratch.h"

namespace octavo::cpu {

/** The working memory of a job, zeroed where sums begin; rows are padded. Two may not be live in one thread. */
class AttentionRows {
 public:
  /** Values are the keys' first elements where no value buffer is asked for (valueDim ≤ keyDim). */
  AttentionRows(int64_t rows, int64_t keyDim, int64_t valueDim, int64_t keysPerRun, bool hasValues);

  void setQuery(int64_t row, const void* from, DType dtype) const;
  /** Elements [first, first + count) of a key of the run; the last part pads it. */
  void setKey(int64_t key, int64_t first, int64_t count, const void* from, DType dtype) const;
  void setValue(int64_t key, const void* from, DType dtype) const;
  /** Scores of all rows with the first `keys` keys. */
  void score(int64_t keys) const;
  /** Folds the first `visible` keys of the run into a row. Others are not even multiplied by zero. */
  void add(int64_t row, int64_t visible, float scale) const;
  /** The row's result; to be called once. */
  void store(int64_t row, void* to, DType dtype) const;

 private:
  int64_t rows_, keyDim_, valueDim_, keyWidth_, valueWidth_, keysPerRun_, valueStride_;
  float *query_, *keys_, *values_, *scores_, *sums_, *largest_, *totals_;
};

}  // namespace octavo::cpu
