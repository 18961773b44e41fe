// Ops that move elements: convert, embedding, gatherRows, kvWrite.
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

void CpuOps::kvWrite(const KvCacheView& cache, int32_t layer, const Heads& key, const Heads& value,
                     const int64_t* slots, Stream&) {
  const int64_t headElements = static_cast<int64_t>(cache.blockSize) * cache.headDim;  // of one k or v of a block
  forRows(key.tokens, 2 * static_cast<int64_t>(cache.kvHeads) * cache.headDim, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      if (slots[t] < 0) continue;
      const int64_t block = slots[t] / cache.blockSize, offset = slots[t] % cache.blockSize;
      const int64_t keys = (block * cache.layers + layer) * 2 * cache.kvHeads;  // heads before this layer's keys
      for (int64_t h = 0; h < cache.kvHeads; ++h) {
        const int64_t at = (keys + h) * headElements + offset * cache.headDim;
        const int64_t valueAt = at + cache.kvHeads * headElements;
        convertElements(element(cache.data, cache.dtype, at), cache.dtype, headOf(key, t, h), key.dtype, cache.headDim);
        convertElements(element(cache.data, cache.dtype, valueAt), cache.dtype, headOf(value, t, h), value.dtype,
                        cache.headDim);
      }
    }
  });
}

}  // namespace octavo
