#include "scripts/bench/native/paged_batch.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "ops/attention_scratch.h"
#include "scripts/bench/native/replay.h"
#include "scripts/bench/native/values.h"

namespace octavo::bench {

namespace {

int32_t blocksOf(int32_t tokens, int32_t blockSize) { return (tokens + blockSize - 1) / blockSize; }

KvCacheView viewOf(const AttentionCase& of, const PagedPlan& plan) {
  return {nullptr, of.cacheType, plan.blocks, plan.layers, of.kvHeads, of.blockSize, of.headDim,
          scalingOf(of.cacheType)};
}

size_t queryElements(const AttentionCase& of) { return size_t{1} * of.tokens() * of.heads * of.headDim; }

size_t scratchBytes(const AttentionCase& of, int32_t maxContext) {
  const AttentionShape shape{of.cacheType, of.heads, of.kvHeads, of.headDim};
  return std::max<size_t>(1, AttentionScratchLayout(shape, of.sequences(), maxContext).bytes);
}

}  // namespace

PagedPlan::PagedPlan(const AttentionCase& of)
    : layers(coldRotation(static_cast<size_t>(of.cacheBytes()))),
      maxQuery(*std::max_element(of.query.begin(), of.query.end())),
      maxContext(*std::max_element(of.context.begin(), of.context.end())),
      tableStride(blocksOf(maxContext, of.blockSize) + 1),
      queryStart(1, 0) {
  for (int32_t length : of.query) queryStart.push_back(queryStart.back() + length);
  for (int32_t length : of.context) blocks += blocksOf(length, of.blockSize);
  std::vector<int32_t> numbers(static_cast<size_t>(++blocks));
  std::iota(numbers.begin(), numbers.end(), 0);
  std::shuffle(numbers.begin(), numbers.end(), std::mt19937(11));
  poisoned = numbers.back();
  table.assign(size_t{1} * of.sequences() * tableStride, poisoned);
  auto next = numbers.begin();
  for (int32_t s = 0; s < of.sequences(); ++s) {
    const int32_t count = blocksOf(of.context[s], of.blockSize);
    std::copy_n(next, count, table.begin() + int64_t{s} * tableStride);
    next += count;
  }
}

PagedBatch::PagedBatch(const AttentionCase& of, cudaStream_t stream)
    : case_(of),
      plan_(of),
      view_(viewOf(of, plan_)),
      cache_(static_cast<size_t>(plan_.blocks) * view_.blockBytes()),
      query_(queryElements(of)),
      out_(queryElements(of)),
      queryStart_(plan_.queryStart),
      context_(of.context),
      table_(plan_.table),
      scratch_(scratchBytes(of, plan_.maxContext)) {
  scratch_.fill(0);
  out_.fill(kPoison);
  view_.data = cache_.data();
  fillCache(view_, 1, stream);
  fillUniform(query_.data(), query_.count(), 2, stream);
  poisonTails(stream);
}

void PagedBatch::poisonTails(cudaStream_t stream) {
  const size_t heads = size_t{2} * plan_.layers * case_.kvHeads;  // of keys and of values, in a block
  /** Tokens from `from` on, of each head `rowBytes` a token. */
  const auto poisonRows = [&](char* first, size_t rowBytes, int32_t from) {
    const size_t headBytes = rowBytes * case_.blockSize, skipped = from * rowBytes;
    cuda::check(cudaMemset2DAsync(first + skipped, headBytes, kPoison, headBytes - skipped, heads, stream),
                "cudaMemset2DAsync");
  };
  const auto poison = [&](int32_t block, int32_t from) {
    poisonRows(view_.block(block), dtypeBytes(view_.dtype) * case_.headDim, from);
    if (view_.scaling == KvScaling::kToken) poisonRows(view_.block(block) + view_.codeBytes(), sizeof(float), from);
  };
  poison(plan_.poisoned, 0);
  for (int32_t s = 0; s < case_.sequences(); ++s) {
    const int32_t length = case_.context[s], used = length % case_.blockSize;
    if (used > 0) poison(plan_.table[int64_t{s} * plan_.tableStride + length / case_.blockSize], used);
  }
}

cuda::PagedAttention PagedBatch::attention(int32_t layer) const {
  const AttentionCase& of = case_;
  const Heads rows{nullptr, DType::kBF16, of.tokens(), of.heads, of.headDim, int64_t{of.heads} * of.headDim};
  cuda::PagedAttention attention;
  attention.out = attention.query = rows;
  attention.out.data = out_.data();
  attention.query.data = query_.data();
  attention.cache = view_;
  attention.layer = layer;
  attention.batch = {of.sequences(), of.tokens(),       queryStart_.data(), context_.data(),
                     table_.data(),  plan_.tableStride, plan_.maxQuery,     plan_.maxContext};
  attention.scale = 1 / std::sqrt(static_cast<float>(of.headDim));
  attention.scratch = {scratch_.data(), of.sequences(), plan_.maxContext};
  return attention;
}

}  // namespace octavo::bench
