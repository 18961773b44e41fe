#include "ops/ops.h"

namespace octavo {

namespace {

Matrix inputOf(Ops& ops, const FusedLinear& fused, Stream& stream) {
  if (!fused.norm.data) return fused.x;
  ops.rmsNorm(fused.normed, fused.x, fused.norm, fused.epsilon, stream);
  return fused.normed;
}

const Matrix& productOf(const FusedLinear& fused) {
  return fused.end == ProductEnd::kStore ? fused.out : fused.product;
}

void finish(Ops& ops, const FusedLinear& fused, Stream& stream) {
  if (fused.end == ProductEnd::kAdd) ops.add(fused.out, fused.product, stream);
  if (fused.end == ProductEnd::kSwiglu) ops.swiglu(fused.out, fused.product, stream);
}

}  // namespace

std::vector<LinearTile> Ops::linearTiles(int64_t, int64_t, int64_t) const { return {}; }

LinearTuning Ops::tuneLinear(const LinearTrial&, Stream&) { return {}; }

bool Ops::keepTuned(const TunedLinear&) { return false; }

void Ops::fusedLinear(const FusedLinear& fused, const Matrix& weight, const Vector& bias, Stream& stream) {
  linear(productOf(fused), inputOf(*this, fused, stream), weight, bias, stream);
  finish(*this, fused, stream);
}

void Ops::fusedLinear(const FusedLinear& fused, const QuantizedMatrix& weight, const Vector& bias,
                      const LinearScratch& scratch, Stream& stream) {
  linear(productOf(fused), inputOf(*this, fused, stream), weight, bias, scratch, stream);
  finish(*this, fused, stream);
}

bool Ops::canFuse(const FusedLinear& fused, const Matrix&) const { return fused.x.rows <= kMostFusedRows; }

bool Ops::canFuse(const FusedLinear& fused, const QuantizedMatrix&) const { return fused.x.rows <= kMostFusedRows; }

void Ops::ropeKvWrite(const KvCacheView& cache, int32_t layer, const RopeWrite& step, Stream& stream) {
  if (step.queryNorm.data) headNorm(step.query, step.queryNorm, step.normEpsilon, stream);
  if (step.keyNorm.data) headNorm(step.key, step.keyNorm, step.normEpsilon, stream);
  rope(step.query, step.key, step.positions, step.inverseFrequencies, step.magnitude, stream);
  kvWrite(cache, layer, step.key, step.value, step.slots, step.scales, stream);
}

void Ops::ropeAttention(const Heads& out, const RopeWrite& step, const KvCacheView& cache, int32_t layer,
                        const AttentionBatch& batch, float scale, const AttentionVariant& variant,
                        const AttentionScratch& scratch, Stream& stream) {
  ropeKvWrite(cache, layer, step, stream);
  pagedAttention(out, step.query, cache, layer, batch, scale, variant, scratch, stream);
}

}  // namespace octavo
