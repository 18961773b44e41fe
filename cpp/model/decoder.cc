#include "model/decoder.h"

#include <algorithm>

#include "base/error.h"
#include "model/activation_plan.h"
#include "model/batch_input.h"
#include "model/layer_products.h"
#include "model/linear_trials.h"
#include "model/rope_constants.h"
#include "ops/attention_scratch.h"

namespace octavo {

struct Decoder::State {
  State(DeviceAllocator& allocator, const ModelSpec& spec, const Weights& weights, DType dtype,
        const BatchLimits& limits);

  Matrix forward(const Batch& batch, const KvCacheView& cache, Stream& stream, const int32_t* sampled);
  Matrix decode(const void* image, int32_t sequences, const KvCacheView& cache, Stream& stream, const int32_t* sampled);
  void pack(const Batch& batch, void* image) const { input_.pack(batch, image); }
  std::vector<LinearTrial> linearTrials() const;

 private:
  /** One step on its stream: the arguments that every phase needs. */
  struct Step {
    const DeviceBatch& batch;
    const KvCacheView& cache;
    Stream& stream;
    int64_t tokens;
    Matrix residual, hidden;  // [T, h]
    bool fuses;               // residual is complete between products; else hidden is still to be added
  };

  void checkCache(const KvCacheView& cache) const;
  Matrix compute(const DeviceBatch& batch, int64_t logitRows, const KvCacheView& cache, Stream& stream,
                 const int32_t* sampled);
  void attention(const Step& step, size_t layer);
  void mlp(const Step& step, size_t layer);
  Matrix head(const Step& step, int64_t rows);
  void multiply(const Step& step, const FusedLinear& product, const LinearWeight& weight, const Vector& bias,
                bool hasAddend = true);
  LinearScratch linearScratch() const { return {linearScratch_.data(), linearScratch_.bytes()}; }

  Device& device_;
  Ops& ops_;
  const ModelSpec spec_;
  const DType dtype_;
  const BatchLimits limits_;
  const ActivationPlan plan_;
  std::vector<LayerWeights> layers_;
  Matrix embedding_;  // [V, h]
  LinearWeight head_;  // [V, h]
  Vector finalNorm_;
  RopeConstants ropes_;
  Allocation activations_, scratch_, linearScratch_;
  LayerProducts products_;
  AttentionScratch attentionScratch_;
  BatchInput input_;
  int64_t fusedRows_ = 0;  // steps of up to so many tokens go by fused ops
};

namespace {

Allocation takeScratch(DeviceAllocator& allocator, size_t bytes) {
  if (bytes == 0) return {};
  Allocation scratch = allocator.allocate(Region::kGraph, bytes, {OwnerKind::kEngine, 0}, "attention.scratch");
  const auto stream = allocator.device().createStream();
  allocator.device().fill(scratch.data(), 0, scratch.bytes(), *stream);
  stream->synchronize();
  return scratch;
}

Allocation takeLinearScratch(DeviceAllocator& allocator, size_t bytes) {
  if (bytes == 0) return {};
  return allocator.allocate(Region::kGraph, bytes, {OwnerKind::kEngine, 0}, "linear.scratch");
}

}  // namespace

Decoder::State::State(DeviceAllocator& allocator, const ModelSpec& spec, const Weights& weights, DType dtype,
                      const BatchLimits& limits)
    : device_(allocator.device()),
      ops_(allocator.device().ops()),
      spec_(spec),
      dtype_(dtype),
      limits_(limits),
      plan_(ActivationPlan::of(spec, dtype, limits)),
      embedding_(weights.matrix("embedding")),
      head_(spec.tiedEmbeddings ? LinearWeight::of(embedding_) : weights.linear("head")),
      finalNorm_(weights.vector("finalNorm")),
      ropes_(allocator, spec),
      activations_(allocator.allocate(Region::kGraph, plan_.bytes, {OwnerKind::kEngine, 0}, "activations")),
      scratch_(takeScratch(allocator, scratchBytes(spec, dtype, limits, device_.sharesHostMemory()))),
      linearScratch_(takeLinearScratch(
          allocator, linearScratchBytes(weights.codedShapes(), dtype, limits, device_.sharesHostMemory()))),
      products_(spec_, plan_, dtype, activations_.data()),
      attentionScratch_{scratch_.data(), limits.maxSequences, spec.contextLength},
      input_(allocator, limits) {
  layers_.reserve(spec_.layers.size());
  for (size_t layer = 0; layer < spec_.layers.size(); ++layer) layers_.push_back(LayerWeights::of(weights, layer));
  fusedRows_ = products_.mostFusedRows(ops_, layers_);
}

void Decoder::State::checkCache(const KvCacheView& cache) const {
  const AttentionSpec& first = spec_.layers.front().attention;
  if (cache.layers == static_cast<int32_t>(spec_.layers.size()) && cache.kvHeads == first.kvHeads &&
      cache.headDim == first.headDim) {
    return;
  }
  throw Error(ErrorCode::kInternal,
              "decoder: the KV cache has " + std::to_string(cache.layers) + " layers of " +
                  std::to_string(cache.kvHeads) + " heads of " + std::to_string(cache.headDim) + ", the model " +
                  std::to_string(spec_.layers.size()) + " of " + std::to_string(first.kvHeads) + " of " +
                  std::to_string(first.headDim));
}

Matrix Decoder::State::forward(const Batch& batch, const KvCacheView& cache, Stream& stream, const int32_t* sampled) {
  checkCache(cache);
  const DeviceBatch uploaded = input_.upload(batch, device_, stream);
  return compute(uploaded, static_cast<int64_t>(batch.logitRows.size()), cache, stream, batch.resolves ? sampled : nullptr);
}

Matrix Decoder::State::decode(const void* image, int32_t sequences, const KvCacheView& cache, Stream& stream,
                              const int32_t* sampled) {
  checkCache(cache);
  return compute(input_.decodes(image, sequences, spec_.contextLength, ops_, stream), sequences, cache, stream, sampled);
}

Matrix Decoder::State::compute(const DeviceBatch& batch, int64_t logitRows, const KvCacheView& cache, Stream& stream,
                               const int32_t* sampled) {
  const int64_t tokens = batch.attention.tokens;
  const Step step{batch,
                  cache,
                  stream,
                  tokens,
                  products_.residual(tokens),
                  products_.hidden(tokens),
                  tokens <= fusedRows_};
  if (sampled) ops_.resolveTokens(batch.tokens, tokens, sampled, stream);
  ops_.embedding(step.residual, batch.tokens, embedding_, stream);
  for (size_t layer = 0; layer < layers_.size(); ++layer) {
    attention(step, layer);
    mlp(step, layer);
  }
  return head(step, logitRows);
}

void Decoder::State::attention(const Step& step, size_t layer) {
  const AttentionSpec& spec = spec_.layers[layer].attention;
  const LayerWeights& weights = layers_[layer];
  const RopeSpec& rope = spec_.ropes[spec.rope];
  const int64_t dim = spec.headDim;
  const int64_t queryColumns = spec.heads * dim;
  const int64_t keyColumns = spec.kvHeads * dim;
  const FusedLinear input = products_.queryKeyValue(step.tokens, layer, weights);
  const FusedLinear output = products_.attentionOutput(step.tokens, layer);
  const Matrix &qkv = input.out, &mixed = output.x;
  const auto heads = [&](const Matrix& matrix, int64_t column, int32_t count) -> Heads {
    char* const data = static_cast<char*>(matrix.data) + column * static_cast<int64_t>(dtypeBytes(dtype_));
    return {data, dtype_, step.tokens, count, spec.headDim, matrix.stride};
  };
  const Heads query = heads(qkv, 0, spec.heads);
  const Heads key = heads(qkv, queryColumns, spec.kvHeads);
  const Heads value = heads(qkv, queryColumns + keyColumns, spec.kvHeads);

  multiply(step, input, weights.qkv, weights.qkvBias, layer > 0);
  RopeWrite write{query, key, value, {}, {}, spec_.normEpsilon, step.batch.positions,
                  ropes_.inverseFrequencies(spec.rope), rope.magnitude, step.batch.slots, {}};
  if (spec.queryKeyNorm) {
    write.queryNorm = weights.queryNorm;
    write.keyNorm = weights.keyNorm;
  }
  const auto index = static_cast<int32_t>(layer);
  AttentionVariant variant;
  variant.window = spec.window;
  ops_.ropeAttention(heads(mixed, 0, spec.heads), write, step.cache, index, step.batch.attention, spec.scale, variant,
                     attentionScratch_, step.stream);
  multiply(step, output, weights.output, weights.outputBias);
}

void Decoder::State::mlp(const Step& step, size_t layer) {
  const LayerWeights& weights = layers_[layer];
  multiply(step, products_.gateUp(step.tokens, layer, weights), weights.gateUp, weights.gateUpBias);
  multiply(step, products_.down(step.tokens, layer), weights.down, weights.downBias);
}

std::vector<LinearTrial> Decoder::State::linearTrials() const {
  const int64_t rows = std::min(limits_.maxSequences, limits_.maxLogitRows);  // of steps that generate
  const HeadProduct head{head_, products_.at(plan_.lastHidden, rows, spec_.hiddenSize, dtype_),
                         products_.at(plan_.logits, rows, spec_.vocabularySize, DType::kF32)};
  return octavo::linearTrials(products_, layers_, head, limits_.maxTokens);
}

/** Final norm and head, of the rows whose logits are wanted alone. */
Matrix Decoder::State::head(const Step& step, int64_t rows) {
  const Matrix logits = products_.at(plan_.logits, rows, spec_.vocabularySize, DType::kF32);
  if (rows == 0) return logits;
  const Matrix residual = products_.at(plan_.lastResidual, rows, spec_.hiddenSize, dtype_);
  const Matrix hidden = products_.at(plan_.lastHidden, rows, spec_.hiddenSize, dtype_);
  ops_.gatherRows(residual, step.residual, step.batch.logitRows, step.stream);
  if (step.fuses) {
    const FusedLinear product{logits, residual, finalNorm_, spec_.normEpsilon, ProductEnd::kStore, hidden, {}};
    head_.multiplyFused(ops_, product, {}, linearScratch(), step.stream);
    return logits;
  }
  ops_.gatherRows(hidden, step.hidden, step.batch.logitRows, step.stream);
  ops_.addRmsNorm(hidden, residual, hidden, finalNorm_, spec_.normEpsilon, step.stream);
  head_.multiply(ops_, logits, hidden, {}, linearScratch(), step.stream);
  return logits;
}

/**
 * By one op, or by several: then what is added to the residual waits in `hidden` for the norm that comes next, which
 * adds it (`hasAddend`: there is something).
 */
void Decoder::State::multiply(const Step& step, const FusedLinear& product, const LinearWeight& weight,
                              const Vector& bias, bool hasAddend) {
  Stream& stream = step.stream;
  if (step.fuses) return weight.multiplyFused(ops_, product, bias, linearScratch(), stream);
  if (!product.norm.data) return weight.multiply(ops_, step.hidden, product.x, bias, linearScratch(), stream);
  if (hasAddend) ops_.addRmsNorm(step.hidden, step.residual, step.hidden, product.norm, product.epsilon, stream);
  else ops_.rmsNorm(step.hidden, step.residual, product.norm, product.epsilon, stream);
  const bool gates = product.end == ProductEnd::kSwiglu;
  weight.multiply(ops_, gates ? product.product : product.out, step.hidden, bias, linearScratch(), stream);
  if (gates) ops_.swiglu(product.out, product.product, stream);
}

Decoder::Decoder(DeviceAllocator& allocator, const ModelSpec& spec, const Weights& weights, DType dtype,
                 const BatchLimits& limits)
    : state_(std::make_unique<State>(allocator, spec, weights, dtype, limits)) {}

Decoder::~Decoder() = default;

size_t Decoder::constantBytes(const ModelSpec& spec) { return RopeConstants::plannedBytes(spec); }

size_t Decoder::plannedBytes(const ModelSpec& spec, DType dtype, const BatchLimits& limits) {
  return constantBytes(spec) + DeviceAllocator::rounded(ActivationPlan::of(spec, dtype, limits).bytes) +
         DeviceAllocator::rounded(BatchInput::plannedBytes(limits)) +
         DeviceAllocator::rounded(BatchInput::tableBytes(limits));
}

size_t Decoder::scratchBytes(const ModelSpec& spec, DType dtype, const BatchLimits& limits, bool onHost) {
  if (onHost) return 0;
  size_t most = 0;
  for (const LayerSpec& layer : spec.layers) {
    const AttentionSpec& attention = layer.attention;
    const AttentionShape shape{dtype, attention.heads, attention.kvHeads, attention.headDim};
    most = std::max(most, AttentionScratchLayout(shape, limits.maxSequences, spec.contextLength).bytes);
  }
  return most;
}

size_t Decoder::linearScratchBytes(const std::vector<CodedShape>& weights, DType dtype, const BatchLimits& limits,
                                   bool onHost) {
  if (onHost) return 0;
  const int64_t tokens = std::max(limits.maxTokens, limits.maxLogitRows);
  size_t most = 0;
  for (const CodedShape& weight : weights) {
    most = std::max(most, LinearScratchLayout(dtype, tokens, weight.rows, weight.columns, weight.scaling).bytes);
  }
  return most;
}

std::vector<LinearTrial> Decoder::linearTrials() const { return state_->linearTrials(); }

void Decoder::pack(const Batch& batch, void* image) const { state_->pack(batch, image); }

Matrix Decoder::decode(const void* image, int32_t sequences, const KvCacheView& cache, Stream& stream,
                       const int32_t* sampled) {
  return state_->decode(image, sequences, cache, stream, sampled);
}

Matrix Decoder::forward(const Batch& batch, const KvCacheView& cache, Stream& stream, const int32_t* sampled) {
  return state_->forward(batch, cache, stream, sampled);
}

}  // namespace octavo
