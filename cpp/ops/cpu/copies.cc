// Ops that move elements: convert, embedding, gatherRows, widenRows.
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

}  // namespace octavo
