// The product with a weight of floats; see linear_tiles.h.
#include "ops/cpu/cpu_ops.h"
#include "ops/cpu/linear_tiles.h"

namespace octavo {

using namespace cpu;

namespace {

class DenseWeight {
 public:
  explicit DenseWeight(const Matrix& matrix) : matrix_(matrix) {}
  int64_t rows() const { return matrix_.rows; }
  int64_t columns() const { return matrix_.columns; }
  static constexpr bool changesInput() { return false; }
  static constexpr void changeInput(float*) {}

  void load(float* to, int64_t row, int64_t start, int64_t depth) const {
    rowKernels().load(to, element(rowOf(matrix_, row), matrix_.dtype, start), matrix_.dtype, depth);
  }
  void dots(float* out, const float* x, int64_t row, int64_t count) const {
    rowKernels().dots(out, x, rowOf(matrix_, row), matrix_.dtype, matrix_.stride, count, matrix_.columns);
  }

 private:
  const Matrix& matrix_;
};

}  // namespace

void CpuOps::linear(const Matrix& out, const Matrix& x, const Matrix& weight, const Vector& bias, Stream&) {
  multiplyAll(pool_, out, x, DenseWeight(weight), bias);
}

}  // namespace octavo
