// Stored tensors into the layout of QuantizedMatrix; see ops/repack.h.
#include <cstring>

#include "ops/cpu/cpu_ops.h"

namespace octavo {

namespace {

constexpr int kAwqOrder[8] = {0, 2, 4, 6, 1, 3, 5, 7};  // the column of each nibble of a word

char* resultRow(const Repack& r, int64_t row) { return static_cast<char*>(r.to) + row * r.stride; }

const uint32_t* words(const Repack& r, int64_t row) {
  return static_cast<const uint32_t*>(r.from) + row * r.columns;
}

void copyRows(const Repack& r, int64_t begin, int64_t end) {
  const int64_t bytes = r.columns * r.width;
  for (int64_t row = begin; row < end; ++row) {
    std::memcpy(resultRow(r, r.firstRow + row), static_cast<const char*>(r.from) + row * bytes, bytes);
  }
}

/** Columns [begin, end): a thread writes whole rows of the result. */
void transpose(const Repack& r, int64_t begin, int64_t end) {
  constexpr int64_t kBlock = 64;  // rows at a time, so that lines of the source are used up
  const char* from = static_cast<const char*>(r.from);
  for (int64_t first = 0; first < r.rows; first += kBlock) {
    const int64_t last = first + kBlock < r.rows ? first + kBlock : r.rows;
    for (int64_t column = begin; column < end; ++column) {
      char* to = resultRow(r, column) + r.firstRow * r.width;
      for (int64_t row = first; row < last; ++row) {
        std::memcpy(to + row * r.width, from + (row * r.columns + column) * r.width, r.width);
      }
    }
  }
}

/** Words [begin, end) of every row: eight rows of the result each. */
void reorderCodes(const Repack& r, int64_t begin, int64_t end) {
  for (int64_t column = begin; column < end; ++column) {
    for (int64_t row = 0; row < r.rows; row += 8) {
      uint32_t results[8] = {};
      for (int64_t k = 0; k < 8; ++k) {
        const uint32_t word = words(r, row + k)[column];
        for (int nibble = 0; nibble < 8; ++nibble) {
          results[kAwqOrder[nibble]] |= (word >> 4 * nibble & 15u) << 4 * k;
        }
      }
      for (int64_t n = 0; n < 8; ++n) {
        std::memcpy(resultRow(r, column * 8 + n) + (r.firstRow + row) / 2, results + n, 4);
      }
    }
  }
}

/** Rows [begin, end) of the stored zeros, which are groups. */
void reorderZeros(const Repack& r, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) {
    for (int64_t column = 0; column < r.columns; ++column) {
      const uint32_t word = words(r, row)[column];
      for (int nibble = 0; nibble < 8; ++nibble) {
        resultRow(r, column * 8 + kAwqOrder[nibble])[r.firstRow + row] = static_cast<char>(word >> 4 * nibble & 15u);
      }
    }
  }
}

uint32_t bitsAt(const uint32_t* stream, int64_t index, int bits) {
  const int64_t bit = index * bits;
  uint64_t pair = stream[bit / 32];
  if (bit % 32 + bits > 32) pair |= static_cast<uint64_t>(stream[bit / 32 + 1]) << 32;
  return static_cast<uint32_t>(pair >> bit % 32) & ((1u << bits) - 1);
}

void unpackRowZeros(const Repack& r, int64_t begin, int64_t end) {
  const uint32_t mask = (1u << r.bits) - 1;
  for (int64_t row = begin; row < end; ++row) {
    for (int64_t n = 0; n < r.count; ++n) {
      const uint32_t zero = (bitsAt(words(r, row), n, r.bits) + static_cast<uint32_t>(r.zeroOffset)) & mask;
      resultRow(r, n)[r.firstRow + row] = static_cast<char>(zero);
    }
  }
}

void unpackColumnZeros(const Repack& r, int64_t begin, int64_t end) {
  const int each = 32 / r.bits;
  for (int64_t row = begin; row < end; ++row) {
    for (int64_t column = 0; column < r.columns; ++column) {
      const uint32_t word = words(r, row)[column];
      for (int i = 0; i < each && (r.firstRow + row) * each + i < r.count; ++i) {
        resultRow(r, (r.firstRow + row) * each + i)[column] =
            static_cast<char>(word >> i * r.bits & ((1u << r.bits) - 1));
      }
    }
  }
}

void repeat(const Repack& r, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) std::memcpy(resultRow(r, i), r.from, r.width);
}

}  // namespace

void CpuOps::repack(const Repack& r, Stream&) {
  const auto over = [&](int64_t count, int64_t each, void (*body)(const Repack&, int64_t, int64_t)) {
    forRows(count, each, [&](int64_t begin, int64_t end) { body(r, begin, end); });
  };
  switch (r.kind) {
    case RepackKind::kRows: return over(r.rows, r.columns, copyRows);
    case RepackKind::kTranspose: return over(r.columns, r.rows, transpose);
    case RepackKind::kRepeat: return over(r.count, 1, repeat);
    case RepackKind::kAwqCodes: return over(r.columns, r.rows * 8, reorderCodes);
    case RepackKind::kAwqZeros: return over(r.rows, r.columns * 8, reorderZeros);
    case RepackKind::kGptqZeros: return over(r.rows, r.count, unpackRowZeros);
    case RepackKind::kPackedZeros: return over(r.rows, r.columns * 8, unpackColumnZeros);
  }
}

}  // namespace octavo
