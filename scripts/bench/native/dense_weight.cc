#include "cuda/gemm/linear.h"
#include "scripts/bench/native/device_array.h"
#include "scripts/bench/native/gemm_weight.h"
#include "scripts/bench/native/replay.h"
#include "scripts/bench/native/values.h"

namespace octavo::bench {

namespace {

constexpr int64_t kGuardRows = 128;  // NaN behind the last copy: the largest tile

class DenseWeight : public GemmWeight {
 public:
  DenseWeight(const GemmCase& of, cudaStream_t stream)
      : plan_(of.plan),
        rows_(of.columns),
        columns_(of.depth),
        count_(coldRotation(bytes())),
        values_(static_cast<size_t>((rows_ * count_ + kGuardRows) * columns_)) {
    values_.fill(kPoison);
    fillUniform(values_.data(), static_cast<size_t>(rows_ * count_ * columns_), 2, stream);
  }

  int count() const override { return count_; }
  size_t bytes() const override { return static_cast<size_t>(rows_ * columns_) * sizeof(uint16_t); }

  void launch(const Matrix& out, const Matrix& x, int turn, const cuda::DeviceTraits& traits,
              cudaStream_t stream) const override {
    const Matrix weight{values_.data() + turn * rows_ * columns_, DType::kBF16, rows_, columns_, columns_};
    if (plan_) cuda::launchPlanned(out, x, weight, {}, *plan_, traits, stream);
    else cuda::launchLinear(out, x, weight, {}, traits, stream);
  }

  std::vector<float> row(int turn, int64_t n) const override {
    std::vector<float> numbers;
    for (uint16_t bits : values_.copy(static_cast<size_t>((turn * rows_ + n) * columns_), columns_)) {
      numbers.push_back(bf16ToFloat(bits));
    }
    return numbers;
  }

 private:
  std::optional<cuda::LinearPlan> plan_;
  int64_t rows_ = 0, columns_ = 0;
  int count_ = 0;
  DeviceArray<uint16_t> values_;  // [count][rows, columns], then the guard
};

}  // namespace

std::unique_ptr<GemmWeight> denseWeight(const GemmCase& of, cudaStream_t stream) {
  return std::make_unique<DenseWeight>(of, stream);
}

}  // namespace octavo::bench
