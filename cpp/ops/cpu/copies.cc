// Ops that move elements: convert, embedding, gatherRows, widenRows, fetchImage, storeImage.
#include <algorithm>

#include "ops/cpu/access.h"
#include "ops/cpu/cpu_ops.h"

namespace octavo {

using namespace cpu;

void CpuOps::convert(void* out, DType outType, const void* from, DType fromType, int64_t count, Stream&) {
  forRows(count, 1, [&](int64_t begin, int64_t end) {
    convertElements(element(out, outType, begin), outType, element(from, fromType, begin), fromType, end - begin);
  });
}

void CpuOps::embedding(const Matrix& out, const int32_t* tokens, const Matrix& table, Stream&) {
  forRows(out.rows, out.columns, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const int32_t token = tokens[t];
      if (token < 0 || token >= table.rows) {
        std::memset(rowOf(out, t), 0, out.columns * dtypeBytes(out.dtype));
      } else {
        convertElements(rowOf(out, t), out.dtype, rowOf(table, token), table.dtype, out.columns);
      }
    }
  });
}

void CpuOps::gatherRows(const Matrix& out, const Matrix& from, const int32_t* rows, Stream&) {
  forRows(out.rows, out.columns, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      convertElements(rowOf(out, r), out.dtype, rowOf(from, rows[r]), from.dtype, out.columns);
    }
  });
}

void CpuOps::widenRows(int32_t* out, int32_t outStride, const int32_t* from, const int32_t* stride, int32_t rows,
                       Stream&) {
  const int64_t columns = *stride;
  for (int64_t row = 0; row < rows; ++row) {
    std::copy_n(from + row * columns, std::min<int64_t>(columns, outStride), out + row * outStride);
  }
}

namespace {

char* imageOf(const ImageTurns& turns) {
  return static_cast<char*>(turns.images) + static_cast<size_t>(*turns.turn % turns.count) * turns.stride;
}

}  // namespace

void CpuOps::fetchImage(void* to, const ImageTurns& from, Stream&) {
  const char* const image = imageOf(from);
  int64_t bytes = 0;
  std::memcpy(&bytes, image, sizeof bytes);
  std::memcpy(to, image, static_cast<size_t>(bytes));
}

void CpuOps::storeImage(const ImageTurns& to, const void* from, size_t bytes, Stream&) {
  std::memcpy(imageOf(to), from, bytes);
  *to.turn = (*to.turn + 1) % to.count;
}

}  // namespace octavo
