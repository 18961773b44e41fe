// The product with a weight of codes: dequantise, multiply. See linear_tiles.h.
#include "ops/cpu/cpu_ops.h"
#include "ops/cpu/dequantize.h"
#include "ops/cpu/linear_tiles.h"
#include "ops/tensor_parts.h"

namespace octavo {

using namespace cpu;

namespace {

class CodedWeight {
 public:
  explicit CodedWeight(const QuantizedMatrix& matrix) : matrix_(matrix) {}
  int64_t rows() const { return matrix_.rows; }
  int64_t columns() const { return matrix_.columns; }
  bool changesInput() const { return matrix_.activations.scaling != ActivationScaling::kNone; }
  void changeInput(float* row) const {
    if (changesInput()) quantizeRow(row, matrix_.columns, matrix_.codeType, matrix_.activations);
  }

  void load(float* to, int64_t row, int64_t start, int64_t depth) const {
    dequantizeRow(to, matrix_, row, start, depth);
  }
  /** A few rows at a time, which stay in the first-level cache. */
  void dots(float* out, const float* x, int64_t row, int64_t count) const {
    const int64_t stride = padded(matrix_.columns);
    float* rows = scratch(ScratchUse::kWeight, kNarrowPanel * stride);
    for (int64_t n = 0; n < count; n += kNarrowPanel) {
      const int64_t some = std::min(kNarrowPanel, count - n);
      for (int64_t r = 0; r < some; ++r) dequantizeRow(rows + r * stride, matrix_, row + n + r, 0, matrix_.columns);
      rowKernels().dots(out + n, x, rows, DType::kF32, stride, some, matrix_.columns);
    }
  }

 private:
  const QuantizedMatrix& matrix_;
};

}  // namespace

void CpuOps::linear(const Matrix& out, const Matrix& x, const QuantizedMatrix& weight, const Vector& bias,
                    const LinearScratch&, Stream&) {
  multiplyAll(pool_, out, x, CodedWeight(weight), bias);
}

void CpuOps::groupedLinear(const Matrix& out, const Matrix& x, const QuantizedMatrix& weight,
                           const ExpertRows& experts, const LinearScratch& scratch, Stream& stream) {
  for (int32_t e = 0; e < experts.count; ++e) {
    const int64_t first = experts.first[e], rows = experts.rows[e];
    if (rows == 0) continue;
    const QuantizedMatrix own = rowsOf(weight, e * out.columns, out.columns);
    linear(rowsOf(out, first, rows), rowsOf(x, first, rows), own, {}, scratch, stream);
  }
}

void CpuOps::dequantize(const Matrix& out, const QuantizedMatrix& weight, Stream&) {
  forRows(weight.rows, weight.columns, [&](int64_t begin, int64_t end) {
    float* row = scratch(ScratchUse::kWeight, weight.columns);
    for (int64_t n = begin; n < end; ++n) {
      dequantizeRow(row, weight, n, 0, weight.columns);
      storeRow(out, n, row);
    }
  });
}

}  // namespace octavo
