#include "model/activation_plan.h"

#include <algorithm>
#include <string>

#include "base/error.h"

namespace octavo {

namespace {

void checkLimit(const char* what, int64_t value) {
  constexpr int64_t kMost = int64_t{1} << 24;
  if (value >= 1 && value <= kMost) return;
  throw Error(ErrorCode::kInvalidArgument, std::string("batch limits: ") + what + " is " + std::to_string(value) +
                                               "; allowed: 1 to " + std::to_string(kMost));
}

/** Hands out aligned places from `at` upwards. */
class Cursor {
 public:
  explicit Cursor(size_t at) : at_(at) {}
  size_t take(int64_t rows, int64_t columns, DType dtype) {
    const size_t place = at_;
    const size_t bytes = static_cast<size_t>(rows) * static_cast<size_t>(columns) * dtypeBytes(dtype);
    at_ += (bytes + 255) / 256 * 256;
    return place;
  }
  size_t at() const { return at_; }

 private:
  size_t at_;
};

}  // namespace

ActivationPlan ActivationPlan::of(const ModelSpec& spec, DType dtype, const BatchLimits& limits) {
  checkLimit("maxTokens", limits.maxTokens);
  checkLimit("maxSequences", limits.maxSequences);
  checkLimit("maxBlocksPerSequence", limits.maxBlocksPerSequence);
  checkLimit("maxLogitRows", limits.maxLogitRows);
  int64_t qkvColumns = 0;
  int64_t attentionColumns = 0;
  int64_t intermediate = 0;
  for (const LayerSpec& layer : spec.layers) {
    const int64_t headDim = layer.attention.headDim;
    const int64_t heads = layer.attention.heads;
    attentionColumns = std::max(attentionColumns, heads * headDim);
    qkvColumns = std::max(qkvColumns, (heads + 2 * int64_t{layer.attention.kvHeads}) * headDim);
    intermediate = std::max(intermediate, int64_t{layer.mlp.intermediateSize});
  }

  ActivationPlan plan;
  Cursor step(0);
  plan.residual = step.take(limits.maxTokens, spec.hiddenSize, dtype);
  plan.hidden = step.take(limits.maxTokens, spec.hiddenSize, dtype);
  Cursor attention(step.at());
  plan.qkv = attention.take(limits.maxTokens, qkvColumns, dtype);
  plan.attention = attention.take(limits.maxTokens, attentionColumns, dtype);
  Cursor mlp(step.at());
  plan.gateUp = mlp.take(limits.maxTokens, 2 * intermediate, dtype);
  plan.activated = mlp.take(limits.maxTokens, intermediate, dtype);
  Cursor head(step.at());
  plan.lastResidual = head.take(limits.maxLogitRows, spec.hiddenSize, dtype);
  plan.lastHidden = head.take(limits.maxLogitRows, spec.hiddenSize, dtype);
  plan.logits = head.take(limits.maxLogitRows, spec.vocabularySize, DType::kF32);
  plan.bytes = std::max({attention.at(), mlp.at(), head.at()});
  return plan;
}

}  // namespace octavo
