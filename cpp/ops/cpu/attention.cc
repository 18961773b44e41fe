// Paged attention by online softmax (Milakov & Gimelshein, arXiv:1805.02867), one KV block after the other.
// A job is one KV head of one tile of query tokens of one sequence: all query heads that share the KV head use
// the block while it is in the cache. A row's arithmetic depends on its own position and context alone.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "ops/cpu/cache_rows.h"
#include "ops/cpu/cpu_ops.h"
#include "ops/cpu/scratch.h"

namespace octavo {

using namespace cpu;

namespace {

constexpr float kLowest = -std::numeric_limits<float>::infinity();
constexpr int64_t kRowsPerTile = 32;

/** Query tokens [token, token + count) of one sequence, the first at `position`. */
struct Tile {
  int32_t sequence;
  int64_t token, count, position;
};

std::vector<Tile> cutTiles(const AttentionBatch& batch, int64_t tokensPerTile) {
  std::vector<Tile> tiles;
  for (int32_t s = 0; s < batch.sequences; ++s) {
    const int64_t begin = batch.queryStart[s], end = batch.queryStart[s + 1];
    for (int64_t token = begin; token < end; token += tokensPerTile) {
      const int64_t position = batch.contextLength[s] - (end - token);
      tiles.push_back({s, token, std::min(tokensPerTile, end - token), position});
    }
  }
  return tiles;
}

/** Keys [begin, end) that a query at `position` sees. */
struct Visible {
  int64_t begin, end;

  Visible(int64_t position, int64_t window)
      : begin(window > 0 ? std::max<int64_t>(0, position - window + 1) : 0), end(position + 1) {}
};

/** The working memory of a job. Rows are (token, query head of the group), rows and keys padded. */
struct Workspace {
  int64_t width;         // padded head dim
  int64_t blockSize;     // row stride of scores
  float *query, *keys, *values, *scores, *sums, *largest, *totals;

  Workspace(int64_t rows, int64_t dim, int64_t blockSize) : width(padded(dim)), blockSize(blockSize) {
    query = scratch(ScratchUse::kQuery, rows * width);
    keys = scratch(ScratchUse::kKey, blockSize * width);
    values = scratch(ScratchUse::kValue, blockSize * width);
    scores = scratch(ScratchUse::kScores, rows * blockSize);
    sums = scratch(ScratchUse::kSums, rows * (width + 2));
    largest = sums + rows * width;
    totals = largest + rows;
    std::fill(sums, sums + rows * width, 0.0f);
    std::fill(largest, largest + rows, kLowest);
    std::fill(totals, totals + rows, 0.0f);
  }

  void pad(float* row, int64_t dim) const { std::fill(row + dim, row + width, 0.0f); }
};

class Job {
 public:
  Job(const Heads& out, const Heads& query, const KvCacheView& cache, int32_t layer, const AttentionBatch& batch,
      float scale, const AttentionVariant& variant)
      : out_(out), query_(query), cache_(cache), layer_(layer), batch_(batch), scale_(scale), variant_(variant),
        window_(variant.window), group_(query.heads / cache.kvHeads) {}

  void run(const Tile& tile, int32_t kvHead) const {
    const int64_t rows = tile.count * group_;
    const Workspace work(rows, cache_.headDim, cache_.blockSize);
    loadQueries(work, tile, kvHead);
    const int64_t first = Visible(tile.position, window_).begin / cache_.blockSize;
    const int64_t end = tile.position + tile.count;  // keys the last token sees
    for (int64_t block = first; block * cache_.blockSize < end; ++block) {
      const int64_t start = block * cache_.blockSize;
      const int64_t keys = std::min<int64_t>(cache_.blockSize, end - start);
      loadKeysAndValues(work, tile, kvHead, block, keys);
      rowKernels().tile(work.scores, work.blockSize, work.query, work.width, rows, work.keys, work.width,
                        (keys + kTileColumns - 1) / kTileColumns * kTileColumns, work.width, false);
      for (int64_t row = 0; row < rows; ++row) attend(work, row, tile.position + row / group_, start, keys);
    }
    storeOutputs(work, tile, kvHead);
  }

 private:
  void loadQueries(const Workspace& work, const Tile& tile, int32_t kvHead) const {
    for (int64_t row = 0; row < tile.count * group_; ++row) {
      const int64_t head = kvHead * group_ + row % group_;
      float* const to = work.query + row * work.width;
      rowKernels().load(to, headOf(query_, tile.token + row / group_, head), query_.dtype, query_.dim);
      work.pad(to, query_.dim);
      if (!variant_.sinks) continue;
      work.largest[row] = variant_.sinks[head];  // a first key without a value: e^(sink − largest) is 1
      work.totals[row] = 1;
    }
  }

  /** The first `keys` tokens of a logical block; rows up to a multiple of kTileColumns are cleared. */
  void loadKeysAndValues(const Workspace& work, const Tile& tile, int32_t kvHead, int64_t block, int64_t keys) const {
    const int64_t physical = batch_.blockTable[tile.sequence * static_cast<int64_t>(batch_.tableStride) + block];
    for (int64_t j = 0; j < keys; ++j) {
      float* const key = work.keys + j * work.width;
      float* const value = work.values + j * work.width;
      loadCached(key, cache_, {physical, layer_, 0, kvHead, j}, variant_.keyScale);
      loadCached(value, cache_, {physical, layer_, 1, kvHead, j}, variant_.valueScale);
      work.pad(key, cache_.headDim);
      work.pad(value, cache_.headDim);
    }
    const int64_t computed = (keys + kTileColumns - 1) / kTileColumns * kTileColumns;
    std::fill(work.keys + keys * work.width, work.keys + computed * work.width, 0.0f);
  }

  /** Folds the visible keys of one block into a row's running softmax. Others are not even multiplied by zero. */
  void attend(const Workspace& work, int64_t row, int64_t position, int64_t start, int64_t keys) const {
    const Visible visible(position, window_);
    const int64_t begin = std::max<int64_t>(visible.begin - start, 0);
    const int64_t count = std::min(visible.end - start, keys) - begin;
    if (count <= 0) return;
    float* weights = work.scores + row * work.blockSize + begin;
    rowKernels().scale(weights, scale_, count);
    if (variant_.softCap > 0) capScores(weights, count);
    const float largest = std::max(work.largest[row], rowKernels().maximum(weights, count));
    const float shift = largest == kLowest ? 0.0f : largest;
    const float correction = std::exp(work.largest[row] - shift);
    const float total = rowKernels().exponentials(weights, shift, count);
    work.totals[row] = work.totals[row] * correction + total;
    work.largest[row] = largest;
    rowKernels().weightedSum(work.sums + row * work.width, correction, weights, work.values + begin * work.width,
                             work.width, count, work.width);
  }

  void capScores(float* scores, int64_t count) const {
    const float cap = variant_.softCap;
    for (int64_t j = 0; j < count; ++j) scores[j] = cap * std::tanh(scores[j] / cap);
  }

  void storeOutputs(const Workspace& work, const Tile& tile, int32_t kvHead) const {
    for (int64_t row = 0; row < tile.count * group_; ++row) {
      float* sum = work.sums + row * work.width;
      rowKernels().scale(sum, 1.0f / work.totals[row], out_.dim);
      const int64_t token = tile.token + row / group_, head = kvHead * group_ + row % group_;
      rowKernels().store(headOf(out_, token, head), out_.dtype, sum, out_.dim);
      if (!variant_.logSumExp) continue;
      variant_.logSumExp[token * query_.heads + head] = work.largest[row] + std::log(work.totals[row]);
    }
  }

  const Heads& out_;
  const Heads& query_;
  const KvCacheView& cache_;
  const int32_t layer_;
  const AttentionBatch& batch_;
  const float scale_;
  const AttentionVariant& variant_;
  const int64_t window_;
  const int64_t group_;
};

}  // namespace

void CpuOps::pagedAttention(const Heads& out, const Heads& query, const KvCacheView& cache, int32_t layer,
                            const AttentionBatch& batch, float scale, const AttentionVariant& variant,
                            const AttentionScratch&, Stream&) {
  const int64_t group = query.heads / cache.kvHeads;
  const std::vector<Tile> tiles = cutTiles(batch, std::max<int64_t>(1, kRowsPerTile / group));
  const Job job(out, query, cache, layer, batch, scale, variant);
  pool_.parallelFor(tiles.size() * cache.kvHeads, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) job.run(tiles[i / cache.kvHeads], static_cast<int32_t>(i % cache.kvHeads));
  });
}

}  // namespace octavo
