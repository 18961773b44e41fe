#include "model/layer_products.h"

namespace octavo {

FusedLinear LayerProducts::normFirst(const Matrix& out, const Vector& norm) const {
  return {out, residual(out.rows), norm, spec_.normEpsilon, ProductEnd::kStore, hidden(out.rows), {}};
}

FusedLinear LayerProducts::addAfter(const Matrix& x) const {
  return {residual(x.rows), x, {}, 0, ProductEnd::kAdd, {}, hidden(x.rows)};
}

FusedLinear LayerProducts::queryKeyValue(int64_t tokens, size_t layer, const LayerWeights& weights) const {
  const AttentionSpec& attention = spec_.layers[layer].attention;
  const int64_t columns = (attention.heads + 2 * int64_t{attention.kvHeads}) * attention.headDim;
  return normFirst(at(plan_.qkv, tokens, columns, dtype_), weights.attentionNorm);
}

FusedLinear LayerProducts::attentionOutput(int64_t tokens, size_t layer) const {
  const AttentionSpec& attention = spec_.layers[layer].attention;
  return addAfter(at(plan_.attention, tokens, int64_t{attention.heads} * attention.headDim, dtype_));
}

FusedLinear LayerProducts::gateUp(int64_t tokens, size_t layer, const LayerWeights& weights) const {
  const int64_t intermediate = spec_.layers[layer].mlp.intermediateSize;
  FusedLinear product = normFirst(at(plan_.activated, tokens, intermediate, dtype_), weights.mlpNorm);
  product.end = ProductEnd::kSwiglu;
  product.product = at(plan_.gateUp, tokens, 2 * intermediate, dtype_);
  return product;
}

FusedLinear LayerProducts::down(int64_t tokens, size_t layer) const {
  return addAfter(at(plan_.activated, tokens, spec_.layers[layer].mlp.intermediateSize, dtype_));
}

int64_t LayerProducts::mostFusedRows(const Ops& ops, const std::vector<LayerWeights>& layers) const {
  const auto fuses = [&](int64_t rows) {
    for (size_t layer = 0; layer < layers.size(); ++layer) {
      const LayerWeights& weights = layers[layer];
      const bool all = weights.qkv.canFuse(ops, queryKeyValue(rows, layer, weights)) &&
                       weights.output.canFuse(ops, attentionOutput(rows, layer)) &&
                       weights.gateUp.canFuse(ops, gateUp(rows, layer, weights)) &&
                       weights.down.canFuse(ops, down(rows, layer));
      if (!all) return false;
    }
    return true;
  };
  int64_t rows = 0;
  while (rows < kMostFusedRows && fuses(rows + 1)) ++rows;
  return rows;
}

}  // namespace octavo
