#include "model/linear_trials.h"

#include <algorithm>
#include <iterator>

#include "ops/tensor_parts.h"

namespace octavo {

namespace {

class Products {
 public:
  void add(const LinearWeight& weight, const Matrix& x, const Matrix& out) {
    for (const LinearPiece& piece : weight.pieces) {
      if (piece.isQuantized() || piece.dense.dtype != x.dtype || dtypeBytes(x.dtype) != 2) continue;
      LinearTrial& trial = of(piece.dense, x, columnsOf(out, piece.firstRow, piece.rows()));
      trial.weights.push_back(piece.dense);
    }
  }

  /** As the decoder multiplies where nothing is fused. */
  void add(const LinearWeight& weight, const FusedLinear& product, const Matrix& hidden) {
    if (!product.norm.data) return add(weight, product.x, hidden);
    add(weight, hidden, product.end == ProductEnd::kSwiglu ? product.product : product.out);
  }

  std::vector<LinearTrial> trials() const {
    std::vector<LinearTrial> made;
    for (size_t bucket = 0; bucket < std::size(kTunedRows); ++bucket) {
      for (const LinearTrial& shape : shapes_) {
        const int64_t rows = std::min(shape.x.rows, kTunedRows[bucket]);
        if (tunedBucketOf(rows) != bucket) continue;
        LinearTrial& trial = made.emplace_back(shape);
        trial.x.rows = trial.out.rows = rows;
      }
    }
    return made;
  }

 private:
  LinearTrial& of(const Matrix& weight, const Matrix& x, const Matrix& out) {
    for (LinearTrial& shape : shapes_) {
      const Matrix& known = shape.weights.front();
      const bool isSame = known.rows == weight.rows && known.columns == weight.columns && known.dtype == weight.dtype;
      if (isSame && shape.out.dtype == out.dtype) return shape;
    }
    return shapes_.emplace_back(LinearTrial{{}, x, out, 0});
  }

  std::vector<LinearTrial> shapes_;
};

}  // namespace

std::vector<LinearTrial> linearTrials(const LayerProducts& products, const std::vector<LayerWeights>& layers,
                                      const HeadProduct& head, int64_t tokens) {
  Products all;
  const Matrix hidden = products.hidden(tokens);
  for (size_t layer = 0; layer < layers.size(); ++layer) {
    const LayerWeights& weights = layers[layer];
    all.add(weights.qkv, products.queryKeyValue(tokens, layer, weights), hidden);
    all.add(weights.output, products.attentionOutput(tokens, layer), hidden);
    all.add(weights.gateUp, products.gateUp(tokens, layer, weights), hidden);
    all.add(weights.down, products.down(tokens, layer), hidden);
  }
  all.add(head.weight, head.x, head.out);
  return all.trials();
}

}  // namespace octavo
