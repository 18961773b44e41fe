#include "scripts/bench/native/chain_model.h"

#include <algorithm>
#include <cmath>

#include "cuda/fused/fused.h"
#include "scripts/bench/native/values.h"

namespace octavo::bench {

namespace {

constexpr int32_t kLayers = 32, kHeads = 32, kKvHeads = 8, kDim = 128, kBlockSize = 32;
constexpr int64_t kHidden = 4096, kIntermediate = 14336, kVocabulary = 128256;
constexpr int64_t kQkv = (kHeads + 2 * kKvHeads) * kDim;
constexpr float kEpsilon = 1e-5f;

size_t elements(int64_t rows, int64_t columns) { return static_cast<size_t>(rows * columns); }

AttentionCase attentionOf(const ChainCase& of) {
  AttentionCase attention;
  attention.heads = kHeads;
  attention.kvHeads = kKvHeads;
  attention.headDim = kDim;
  attention.blockSize = kBlockSize;
  attention.query.assign(static_cast<size_t>(of.rows), 1);
  attention.context.assign(static_cast<size_t>(of.rows), of.context);
  return attention;
}

std::vector<float> frequencies() {
  std::vector<float> values;
  for (int i = 0; i < kDim / 2; ++i) values.push_back(std::pow(500000.0f, -2.0f * static_cast<float>(i) / kDim));
  return values;
}

}  // namespace

ChainWeights::ChainWeights(const CodedFormat* format, cudaStream_t stream)
    : head_(chainWeight(kVocabulary, kHidden, nullptr, stream)) {
  for (int32_t layer = 0; layer < kLayers; ++layer) {
    layers_.push_back({chainWeight(kQkv, kHidden, format, stream), chainWeight(kHidden, kHidden, format, stream),
                       chainWeight(2 * kIntermediate, kHidden, format, stream),
                       chainWeight(kHidden, kIntermediate, format, stream)});
  }
}

size_t ChainWeights::bytes() const {
  size_t sum = head_->bytes();
  for (const Layer& layer : layers_) {
    sum += layer.qkv->bytes() + layer.output->bytes() + layer.gateUp->bytes() + layer.down->bytes();
  }
  return sum;
}

ChainModel::ChainModel(const ChainCase& of, const ChainWeights& weights, cudaStream_t stream)
    : case_(of),
      weights_(weights),
      embedded_(elements(of.rows, kHidden)),
      residual_(elements(of.rows, kHidden)),
      norm_(kHidden),
      qkv_(elements(of.rows, kQkv)),
      mixed_(elements(of.rows, kHidden)),
      activated_(elements(of.rows, kIntermediate)),
      logits_(elements(of.rows, kVocabulary)),
      frequencies_(frequencies()),
      positions_(std::vector<int32_t>(static_cast<size_t>(of.rows), std::max(of.context, 1) - 1)),
      // What a step writes is not what it reads: the slots of a real step would have to follow the shuffled tables.
      slots_(std::vector<int64_t>(static_cast<size_t>(of.rows), -1)) {
  fillUniform(embedded_.data(), embedded_.count(), 7, stream);
  fillUniform(norm_.data(), norm_.count(), 8, stream);
  fillUniform(mixed_.data(), mixed_.count(), 9, stream);
  logits_.fill(kPoison);
  if (of.context > 0) cache_ = std::make_unique<PagedBatch>(attentionOf(of), stream);
}

Matrix ChainModel::place(const DeviceArray<uint16_t>& memory, int64_t columns) const {
  return {memory.data(), DType::kBF16, case_.rows, columns, columns};
}

void ChainModel::attend(int32_t layer, const ChainLaunch& to) const {
  const auto heads = [&](int64_t column, int32_t count) {
    return Heads{qkv_.data() + column, DType::kBF16, case_.rows, count, kDim, kQkv};
  };
  cuda::PagedAttention attention = cache_->attention(layer % cache_->layers());
  RopeWrite write;
  write.query = heads(0, kHeads);
  write.key = heads(kHeads * kDim, kKvHeads);
  write.value = heads((kHeads + kKvHeads) * kDim, kKvHeads);
  write.positions = positions_.data();
  write.inverseFrequencies = frequencies_.data();
  write.slots = slots_.data();
  attention.query = write.query;
  attention.out.data = mixed_.data();
  if (cuda::canAttendRows(attention, write, to.traits)) return cuda::launchAttendRows(attention, write, to.stream);
  cuda::launchRopeWrite(attention.cache, attention.layer, write, to.traits, to.stream);
  cuda::launchPagedAttention(attention, to.traits, to.stream);
}

void ChainModel::step(const ChainLaunch& to) const {
  cuda::check(cudaMemcpyAsync(residual_.data(), embedded_.data(), embedded_.bytes(), cudaMemcpyDeviceToDevice, to.stream),
              "cudaMemcpyAsync");
  const Vector norm{norm_.data(), DType::kBF16, kHidden};
  const Matrix residual = place(residual_, kHidden), qkv = place(qkv_, kQkv), mixed = place(mixed_, kHidden);
  const Matrix activated = place(activated_, kIntermediate), rounded{nullptr, DType::kBF16, 0, 0, 0};
  for (int32_t layer = 0; layer < kLayers; ++layer) {
    const ChainWeights::Layer& weights = weights_.layers()[static_cast<size_t>(layer)];
    weights.qkv->launch({qkv, residual, norm, kEpsilon, ProductEnd::kStore, {}, {}}, to);
    if (cache_) attend(layer, to);
    weights.output->launch({residual, mixed, {}, 0, ProductEnd::kAdd, {}, rounded}, to);
    weights.gateUp->launch({activated, residual, norm, kEpsilon, ProductEnd::kSwiglu, {}, rounded}, to);
    weights.down->launch({residual, activated, {}, 0, ProductEnd::kAdd, {}, rounded}, to);
  }
  const Matrix logits{logits_.data(), DType::kF32, case_.rows, kVocabulary, kVocabulary};
  weights_.head().launch({logits, residual, norm, kEpsilon, ProductEnd::kStore, {}, {}}, to);
}

bool ChainModel::isFinite() const {
  const std::vector<float> logits = logits_.copy(0, logits_.count());
  return std::all_of(logits.begin(), logits.end(), [](float logit) { return std::isfinite(logit); });
}

}  // namespace octavo::bench
