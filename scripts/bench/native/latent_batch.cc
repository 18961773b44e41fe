#include "scripts/bench/native/latent_batch.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "scripts/bench/native/replay.h"
#include "scripts/bench/native/values.h"

namespace octavo::bench {

namespace {

constexpr int32_t kBlockSize = LatentCase::kBlockSize;

int32_t blocksOf(int32_t tokens) { return (tokens + kBlockSize - 1) / kBlockSize; }

int32_t mostOf(const std::vector<int32_t>& values) { return *std::max_element(values.begin(), values.end()); }

/** One block more than the sequences have: the poisoned one, which is the last of the shuffled. */
int32_t countBlocks(const LatentCase& of) {
  int32_t blocks = 1;
  for (int32_t length : of.context) blocks += blocksOf(length);
  return blocks;
}

std::vector<int32_t> shuffledTable(const LatentCase& of, int32_t blocks, int32_t stride) {
  std::vector<int32_t> numbers(static_cast<size_t>(blocks));
  std::iota(numbers.begin(), numbers.end(), 0);
  std::shuffle(numbers.begin(), numbers.end(), std::mt19937(13));
  std::vector<int32_t> table(size_t{1} * of.sequences() * stride, numbers.back());
  auto next = numbers.begin();
  for (int32_t s = 0; s < of.sequences(); ++s) {
    const int32_t count = blocksOf(of.context[s]);
    std::copy_n(next, count, table.begin() + int64_t{s} * stride);
    next += count;
  }
  return table;
}

/** Of queries, and, where a prompt's tokens are all queries, of keys. */
std::vector<int32_t> startsOf(const LatentCase& of) {
  std::vector<int32_t> starts(1, 0);
  for (int32_t length : of.context) starts.push_back(starts.back() + (of.isPrompt ? length : 1));
  return starts;
}

size_t scratchBytes(const LatentCase& of) {
  const LatentShape shape{DType::kBF16, of.heads, LatentCase::kRank, LatentCase::kWidth};
  return LatentScratchLayout(shape, of.sequences(), mostOf(of.context)).bytes;
}

}  // namespace

LatentBatch::LatentBatch(const LatentCase& of, cudaStream_t stream)
    : case_(of),
      layers_(of.isPrompt ? 1 : coldRotation(static_cast<size_t>(of.cacheBytes()))),
      blocks_(countBlocks(of)),
      tableStride_(blocksOf(mostOf(of.context)) + 1),
      maxContext_(mostOf(of.context)),
      table_(shuffledTable(of, blocks_, tableStride_)),
      starts_(startsOf(of)),
      keys_(rows() * (of.isPrompt ? of.heads * (of.kKeyDim + of.kValueDim) : of.kWidth)),
      ropeKey_(of.isPrompt ? rows() * of.kRopeDim : 1),
      query_(size_t{1} * of.tokens() * of.heads * of.queryDim()),
      out_(size_t{1} * of.tokens() * of.heads * of.outDim()),
      queryStart_(starts_),
      context_(of.context),
      deviceTable_(table_),
      scratch_(scratchBytes(of)) {
  scratch_.fill(0);
  out_.fill(kPoison);
  fillUniform(keys_.data(), keys_.count(), 1, stream);
  fillUniform(ropeKey_.data(), ropeKey_.count(), 2, stream);
  fillUniform(query_.data(), query_.count(), 3, stream);
  if (!of.isPrompt) poisonTails(stream);
}

size_t LatentBatch::rows() const {
  return case_.isPrompt ? static_cast<size_t>(case_.tokens()) : size_t{1} * blocks_ * layers_ * kBlockSize;
}

void LatentBatch::poisonTails(cudaStream_t stream) {
  const size_t rowBytes = size_t{2} * LatentCase::kWidth, planeBytes = rowBytes * kBlockSize;
  const auto poison = [&](int32_t block, int32_t from) {
    char* const first = reinterpret_cast<char*>(keys_.data()) + block * layers_ * planeBytes + from * rowBytes;
    cuda::check(cudaMemset2DAsync(first, planeBytes, kPoison, planeBytes - from * rowBytes, layers_, stream),
                "cudaMemset2DAsync");
  };
  for (int32_t s = 0; s < case_.sequences(); ++s) {
    const int32_t* const row = table_.data() + int64_t{s} * tableStride_;
    const int32_t length = case_.context[s], used = length % kBlockSize;
    poison(row[tableStride_ - 1], 0);
    if (used > 0) poison(row[length / kBlockSize], used);
  }
}

AttentionBatch LatentBatch::batch() const {
  return {case_.sequences(),   case_.tokens(), queryStart_.data(), context_.data(), deviceTable_.data(),
          tableStride_, case_.isPrompt ? maxContext_ : 1,    maxContext_};
}

cuda::LatentAttention LatentBatch::decode(int32_t layer) const {
  const LatentCase& of = case_;
  cuda::LatentAttention attention;
  attention.out = {out_.data(), DType::kBF16, of.tokens(), of.heads, of.outDim(), int64_t{of.heads} * of.outDim()};
  attention.query = {query_.data(), DType::kBF16,  of.tokens(),
                     of.heads,      of.queryDim(), int64_t{of.heads} * of.queryDim()};
  attention.cache = {keys_.data(), DType::kBF16, blocks_, layers_, kBlockSize, LatentCase::kWidth};
  attention.layer = layer;
  attention.batch = batch();
  attention.scale = 1 / std::sqrt(static_cast<float>(of.kKeyDim + of.kRopeDim));
  attention.scratch = {scratch_.data(), of.sequences(), maxContext_};
  attention.forms = of.forms;
  return attention;
}

cuda::ExpandedAttention LatentBatch::prefill() const {
  const LatentCase& of = case_;
  const int32_t headDim = of.kKeyDim + of.kValueDim;
  cuda::ExpandedAttention attention;
  const cuda::LatentAttention heads = decode(0);
  attention.out = heads.out;
  attention.query = heads.query;
  attention.keys.keyValue = {keys_.data(), DType::kBF16, of.tokens(), of.heads, headDim, int64_t{of.heads} * headDim};
  attention.keys.ropeKey = {ropeKey_.data(), DType::kBF16, of.tokens(), of.kRopeDim, of.kRopeDim};
  attention.keys.keyStart = queryStart_.data();
  attention.batch = heads.batch;
  attention.scale = heads.scale;
  return attention;
}

}  // namespace octavo::bench
