// The four products of a layer, each with what stands before and behind it.
#pragma once

#include "model/activation_plan.h"
#include "model/layer_weights.h"

namespace octavo {

/** All lie in the activations of one decoder. `tokens`: rows of the step; `layer` counts from 0. */
class LayerProducts {
 public:
  /** `spec` must outlive this; `activations` are of plan.bytes. */
  LayerProducts(const ModelSpec& spec, const ActivationPlan& plan, DType dtype, void* activations)
      : spec_(spec), plan_(plan), dtype_(dtype), activations_(static_cast<char*>(activations)) {}

  Matrix at(size_t offset, int64_t rows, int64_t columns, DType dtype) const {
    return {activations_ + offset, dtype, rows, columns, columns};
  }
  Matrix residual(int64_t tokens) const { return at(plan_.residual, tokens, spec_.hiddenSize, dtype_); }
  Matrix hidden(int64_t tokens) const { return at(plan_.hidden, tokens, spec_.hiddenSize, dtype_); }

  FusedLinear queryKeyValue(int64_t tokens, size_t layer, const LayerWeights& weights) const;
  FusedLinear attentionOutput(int64_t tokens, size_t layer) const;
  FusedLinear gateUp(int64_t tokens, size_t layer, const LayerWeights& weights) const;
  FusedLinear down(int64_t tokens, size_t layer) const;

  /** Up to so many rows every product of every layer is better fused; where one is not, none is. */
  int64_t mostFusedRows(const Ops& ops, const std::vector<LayerWeights>& layers) const;

 private:
  FusedLinear normFirst(const Matrix& out, const Vector& norm) const;
  FusedLinear addAfter(const Matrix& x) const;

  const ModelSpec& spec_;
  ActivationPlan plan_;
  DType dtype_;
  char* activations_;
};

}  // namespace octavo
