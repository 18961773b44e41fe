// Non-owning views of device memory. Shapes are in elements; rows are contiguous, `stride` apart.
#pragma once

#include <cstdint>

#include "base/dtype.h"
#include "ops/kv_cache_view.h"

namespace octavo {

/** [rows, columns], row r starts at data + r * stride elements. */
struct Matrix {
  void* data = nullptr;
  DType dtype = DType::kF32;
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t stride = 0;
};

/** [size]; data == nullptr means "absent" where an op allows it (bias). */
struct Vector {
  const void* data = nullptr;
  DType dtype = DType::kF32;
  int64_t size = 0;
};

/** [tokens, heads, dim]; token t, head h starts at data + t * tokenStride + h * dim elements. */
struct Heads {
  void* data = nullptr;
  DType dtype = DType::kF32;
  int64_t tokens = 0;
  int32_t heads = 0;
  int32_t dim = 0;
  int64_t tokenStride = 0;
};

/** What the attention of a model has in common over its layers. */
struct AttentionShape {
  DType dtype = DType::kF32;  // of the cache
  int32_t heads = 0, kvHeads = 0, headDim = 0;
};

/**
 * Device memory that attention may use between its first and its last instruction, of
 * AttentionScratchLayout::bytes for the limits named here. Zeroed once, before its first use; of one shape, and used by
 * one stream. Without it (data == nullptr) a slower way is taken.
 */
struct AttentionScratch {
  void* data = nullptr;
  int32_t maxSequences = 0;
  int32_t maxContextLength = 0;
};

/**
 * A flat batch of sequences. Sequence s owns tokens queryStart[s] … queryStart[s+1]; its tokens are the
 * last ones of a context of contextLength[s] tokens (this step's included). All pointers are device
 * memory. Entries of a table row past ceil(contextLength / blockSize) are never read.
 */
struct AttentionBatch {
  int32_t sequences = 0;
  int32_t tokens = 0;
  const int32_t* queryStart = nullptr;     // [sequences + 1]
  const int32_t* contextLength = nullptr;  // [sequences]
  const int32_t* blockTable = nullptr;     // [sequences, tableStride]
  int32_t tableStride = 0;
  int32_t maxQueryLength = 0;              // host copies of the largest values, for launch shapes
  int32_t maxContextLength = 0;
};

}  // namespace octavo
