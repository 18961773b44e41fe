// Multi-head latent attention: absorbed over the paged cache, and over expanded keys and values.
#include <algorithm>
#include <vector>

#include "ops/cpu/attention_rows.h"
#include "ops/cpu/cpu_ops.h"

namespace octavo {

using namespace cpu;

namespace {

constexpr int64_t kRowsPerJob = 32;
constexpr int64_t kKeysPerRun = 32;  // of expanded keys

/** Rows [first, first + count) of a sequence: row r is head r % heads of its query token r / heads. */
struct Rows {
  int32_t sequence;
  int64_t first, count;
};

/** `heads`: of a row's tokens that are dealt together; 1 where every head has keys of its own. */
std::vector<Rows> cutRows(const AttentionBatch& batch, int64_t heads) {
  std::vector<Rows> jobs;
  for (int32_t s = 0; s < batch.sequences; ++s) {
    const int64_t rows = (batch.queryStart[s + 1] - batch.queryStart[s]) * heads;
    for (int64_t first = 0; first < rows; first += kRowsPerJob) {
      jobs.push_back({s, first, std::min(kRowsPerJob, rows - first)});
    }
  }
  return jobs;
}

/** Keys that query token `token` of a sequence sees. */
int64_t visibleKeys(const AttentionBatch& batch, int32_t sequence, int64_t token) {
  const int64_t length = batch.queryStart[sequence + 1] - batch.queryStart[sequence];
  return batch.contextLength[sequence] - length + token + 1;
}

int64_t latentAt(const LatentCacheView& cache, int64_t block, int32_t layer, int64_t offset) {
  return ((block * cache.layers + layer) * cache.blockSize + offset) * cache.width;
}

void attendLatents(const Heads& out, const Heads& query, const LatentCacheView& cache, int32_t layer,
                   const AttentionBatch& batch, float scale, const Rows& rows) {
  const AttentionRows work(rows.count, cache.width, out.dim, cache.blockSize, false);
  const int64_t heads = query.heads, firstToken = batch.queryStart[rows.sequence];
  for (int64_t i = 0; i < rows.count; ++i) {
    const int64_t row = rows.first + i;
    work.setQuery(i, headOf(query, firstToken + row / heads, row % heads), query.dtype);
  }
  const int64_t end = visibleKeys(batch, rows.sequence, (rows.first + rows.count - 1) / heads);
  const int32_t* const table = batch.blockTable + rows.sequence * static_cast<int64_t>(batch.tableStride);
  for (int64_t start = 0; start < end; start += cache.blockSize) {
    const int64_t keys = std::min<int64_t>(cache.blockSize, end - start), block = table[start / cache.blockSize];
    for (int64_t j = 0; j < keys; ++j) {
      work.setKey(j, 0, cache.width, element(cache.data, cache.dtype, latentAt(cache, block, layer, j)), cache.dtype);
    }
    work.score(keys);
    for (int64_t i = 0; i < rows.count; ++i) {
      work.add(i, std::min(keys, visibleKeys(batch, rows.sequence, (rows.first + i) / heads) - start), scale);
    }
  }
  for (int64_t i = 0; i < rows.count; ++i) {
    const int64_t row = rows.first + i;
    work.store(i, headOf(out, firstToken + row / heads, row % heads), out.dtype);
  }
}

void attendExpanded(const Heads& out, const Heads& query, const ExpandedKeys& expanded, const AttentionBatch& batch,
                    float scale, const Rows& rows, int64_t head) {
  const Heads& keyValue = expanded.keyValue;
  const int64_t ropeDim = expanded.ropeKey.columns, keyDim = query.dim - ropeDim;
  const AttentionRows work(rows.count, query.dim, out.dim, kKeysPerRun, true);
  const int64_t firstToken = batch.queryStart[rows.sequence] + rows.first;
  for (int64_t i = 0; i < rows.count; ++i) work.setQuery(i, headOf(query, firstToken + i, head), query.dtype);
  const int64_t end = visibleKeys(batch, rows.sequence, rows.first + rows.count - 1);
  for (int64_t start = 0; start < end; start += kKeysPerRun) {
    const int64_t keys = std::min(kKeysPerRun, end - start);
    for (int64_t j = 0; j < keys; ++j) {
      const int64_t at = expanded.keyStart[rows.sequence] + start + j;
      const void* const both = headOf(keyValue, at, head);
      work.setKey(j, 0, keyDim, both, keyValue.dtype);
      if (ropeDim > 0) work.setKey(j, keyDim, ropeDim, rowOf(expanded.ropeKey, at), expanded.ropeKey.dtype);
      work.setValue(j, element(both, keyValue.dtype, keyDim), keyValue.dtype);
    }
    work.score(keys);
    for (int64_t i = 0; i < rows.count; ++i) {
      work.add(i, std::min(keys, visibleKeys(batch, rows.sequence, rows.first + i) - start), scale);
    }
  }
  for (int64_t i = 0; i < rows.count; ++i) work.store(i, headOf(out, firstToken + i, head), out.dtype);
}

}  // namespace

void CpuOps::latentWrite(const LatentCacheView& cache, int32_t layer, const Matrix& rows, const int64_t* slots,
                         Stream&) {
  forRows(rows.rows, cache.width, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      if (slots[t] < 0) continue;
      const int64_t at = latentAt(cache, slots[t] / cache.blockSize, layer, slots[t] % cache.blockSize);
      convertElements(element(cache.data, cache.dtype, at), cache.dtype, rowOf(rows, t), rows.dtype, cache.width);
    }
  });
}

void CpuOps::latentRead(const Matrix& out, const LatentCacheView& cache, int32_t layer, const int64_t* slots,
                        Stream&) {
  forRows(out.rows, cache.width, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      if (slots[r] < 0) {
        std::memset(rowOf(out, r), 0, out.columns * dtypeBytes(out.dtype));
        continue;
      }
      const int64_t at = latentAt(cache, slots[r] / cache.blockSize, layer, slots[r] % cache.blockSize);
      convertElements(rowOf(out, r), out.dtype, element(cache.data, cache.dtype, at), cache.dtype, cache.width);
    }
  });
}

void CpuOps::latentAttention(const Heads& out, const Heads& query, const LatentCacheView& cache, int32_t layer,
                             const AttentionBatch& batch, float scale, const AttentionScratch&, Stream&) {
  const std::vector<Rows> jobs = cutRows(batch, query.heads);
  pool_.parallelFor(jobs.size(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) attendLatents(out, query, cache, layer, batch, scale, jobs[i]);
  });
}

void CpuOps::expandedAttention(const Heads& out, const Heads& query, const ExpandedKeys& keys,
                               const AttentionBatch& batch, float scale, Stream&) {
  const std::vector<Rows> jobs = cutRows(batch, 1);
  pool_.parallelFor(jobs.size() * query.heads, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      attendExpanded(out, query, keys, batch, scale, jobs[i / query.heads], i % query.heads);
    }
  });
}

}  // namespace octavo
