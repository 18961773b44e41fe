// Ops that fill the paged cache: kvWrite, with what comes before it, and copies of whole blocks.
#include <array>

#include "ops/cpu/cache_rows.h"
#include "ops/cpu/cpu_ops.h"
#include "ops/cpu/head_rows.h"
#include "ops/cpu/scratch.h"

namespace octavo {

using namespace cpu;

namespace {

constexpr int64_t kMostDim = 256;

/** One token of RopeWrite; cosines and sines are its position's. */
class TokenWrite {
 public:
  TokenWrite(const KvCacheView& cache, int32_t layer, const RopeWrite& step)
      : cache_(cache), layer_(layer), step_(step), half_(step.query.dim / 2) {
    cosines_ = scratch(ScratchUse::kWeight, 2 * half_ + 2 * step.query.dim);
    sines_ = cosines_ + half_;
    queryNorm_ = loadNorm(step.queryNorm, sines_ + half_);
    keyNorm_ = loadNorm(step.keyNorm, sines_ + half_ + step.query.dim);
    row_ = scratch(ScratchUse::kInput, step.query.dim);
  }

  void run(int64_t token) const {
    setRotation(cosines_, sines_, step_.positions[token], step_.inverseFrequencies, step_.magnitude, half_);
    for (int64_t h = 0; h < step_.query.heads; ++h) {
      void* const head = headOf(step_.query, token, h);
      turn(head, head, step_.query, queryNorm_);
    }
    const int64_t slot = step_.slots[token];
    if (slot < 0) return;
    const int64_t block = slot / cache_.blockSize, offset = slot % cache_.blockSize;
    for (int64_t h = 0; h < step_.key.heads; ++h) {
      std::array<float, kMostDim> turned;
      turn(turned.data(), headOf(step_.key, token, h), step_.key, keyNorm_);
      storeCached(cache_, {block, layer_, 0, h, offset}, turned.data(), step_.key.dtype, step_.scales);
      storeCached(cache_, {block, layer_, 1, h, offset}, headOf(step_.value, token, h), step_.value.dtype,
                  step_.scales);
    }
  }

 private:
  static const float* loadNorm(const Vector& norm, float* space) {
    if (!norm.data) return nullptr;
    rowKernels().load(space, norm.data, norm.dtype, norm.size);
    return space;
  }

  /** The norm is rounded to the dtype of the heads, as headNorm leaves it. */
  void turn(void* to, const void* from, const Heads& heads, const float* norm) const {
    rowKernels().load(row_, from, heads.dtype, heads.dim);
    if (norm) {
      normalizeRow(row_, norm, heads.dim, step_.normEpsilon);
      rowKernels().store(to, heads.dtype, row_, heads.dim);
      rowKernels().load(row_, to, heads.dtype, heads.dim);
    }
    rowKernels().rotate(row_, row_ + half_, cosines_, sines_, half_);
    rowKernels().store(to, heads.dtype, row_, heads.dim);
  }

  const KvCacheView& cache_;
  const int32_t layer_;
  const RopeWrite& step_;
  const int64_t half_;
  float *cosines_, *sines_, *row_;
  const float *queryNorm_, *keyNorm_;
};

}  // namespace

void CpuOps::kvWrite(const KvCacheView& cache, int32_t layer, const Heads& key, const Heads& value,
                     const int64_t* slots, const KvScales& scales, Stream&) {
  forRows(key.tokens, 2 * static_cast<int64_t>(cache.kvHeads) * cache.headDim, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      if (slots[t] < 0) continue;
      const int64_t block = slots[t] / cache.blockSize, offset = slots[t] % cache.blockSize;
      for (int64_t h = 0; h < cache.kvHeads; ++h) {
        storeCached(cache, {block, layer, 0, h, offset}, headOf(key, t, h), key.dtype, scales);
        storeCached(cache, {block, layer, 1, h, offset}, headOf(value, t, h), value.dtype, scales);
      }
    }
  });
}

void CpuOps::ropeKvWrite(const KvCacheView& cache, int32_t layer, const RopeWrite& step, Stream&) {
  const int64_t elements = (step.query.heads + 2 * static_cast<int64_t>(step.key.heads)) * step.query.dim;
  forRows(step.query.tokens, elements, [&](int64_t begin, int64_t end) {
    const TokenWrite write(cache, layer, step);
    for (int64_t t = begin; t < end; ++t) write.run(t);
  });
}

void CpuOps::copyBlocks(const BlockCopies& copies, Stream&) {
  forRows(copies.count, static_cast<int64_t>(copies.blockBytes / sizeof(float)), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const size_t from = static_cast<size_t>(copies.copies[i].from) * copies.blockBytes;
      const size_t to = static_cast<size_t>(copies.copies[i].to) * copies.blockBytes;
      std::memcpy(static_cast<char*>(copies.to) + to, static_cast<const char*>(copies.from) + from, copies.blockBytes);
    }
  });
}

}  // namespace octavo
