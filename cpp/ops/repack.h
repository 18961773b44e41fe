// From the layouts of checkpoints to that of QuantizedMatrix: one piece of a stored tensor at a time.
#pragma once

#include "ops/tensor.h"

namespace octavo {

/** How a stored tensor [rows, columns] of `width` bytes an element becomes part of a QuantizedMatrix. */
enum class RepackKind : uint8_t {
  /** Rows as they are, `stride` bytes apart. */
  kRows,
  /** Element (r, c) goes to c · stride + r · width: GPTQ's codes, in words along K, and the scales of GPTQ and AWQ. */
  kTranspose,
  /** The one element to `count` places of its width: the scale of a whole tensor. */
  kRepeat,
  /** AWQ's codes, words [K, N / 8]: bits 4j … 4j + 3 hold column 8c + {0, 2, 4, 6, 1, 3, 5, 7}[j]; rows by eights. */
  kAwqCodes,
  /** AWQ's zeros, words [G, N / 8] in the same order, to bytes [N, stride]. */
  kAwqZeros,
  /** Words [G, N · bits / 32], streams of `bits` along N, to bytes [N, stride]: (stored + zeroOffset) mod 2^bits. */
  kGptqZeros,
  /** Words [⌈N · bits / 32⌉, G], streams of `bits` down the rows, to bytes [N, stride]. */
  kPackedZeros,
};

/** Rows [firstRow, firstRow + rows) of the stored tensor; `from` points to the first of them. */
struct Repack {
  RepackKind kind = RepackKind::kRows;
  const void* from = nullptr;
  int64_t firstRow = 0, rows = 0;
  int64_t columns = 0;     // elements a row
  int32_t width = 1;       // bytes an element: 1, 2 or 4; words are 4
  int32_t bits = 0;        // of a zero
  int32_t zeroOffset = 0;  // GPTQ's first version stores zeros less 1
  void* to = nullptr;      // of the whole tensor
  int64_t stride = 0;      // bytes from row to row of the result
  int64_t count = 0;       // rows of the result: results past it are not written
};

}  // namespace octavo
