// The operands of a case in device memory, and how far the product is from fp64.
#pragma once

#include "scripts/bench/native/device_array.h"
#include "scripts/bench/native/gemm_weight.h"

namespace octavo::bench {

/**
 * Rows that a kernel must not use are NaN: a tile of them behind x and behind out, which is NaN until it is written.
 */
class GemmOperands {
 public:
  GemmOperands(const GemmCase& of, cudaStream_t stream);

  const GemmWeight& weight() const { return *weight_; }
  void prepare(const cuda::DeviceTraits& traits, cudaStream_t stream) { weight_->prepare(x(), traits, stream); }
  Matrix x() const { return {x_.data(), DType::kBF16, case_.rows, case_.depth, case_.depth}; }
  Matrix out() const { return {out_.data(), DType::kBF16, case_.rows, case_.columns, case_.columns}; }

  /**
   * The largest |out − Σ a·b| / Σ |a·b| of elements spread over the result with copy number `turn` of the weight, in
   * fp64 on the host; NaN where one was not written or a row behind the result was.
   */
  double error(int turn) const;

 private:
  bool isGuardWhole() const;
  std::vector<float> inputRow(int64_t row) const;

  GemmCase case_;
  std::unique_ptr<GemmWeight> weight_;
  DeviceArray<uint16_t> x_, out_;
};

/** Rounding to bf16 alone errs by 2⁻⁹ of an element, at K = 4096 up to 3e-4 of its Σ |a·b|. */
constexpr double kGemmTolerance = 5e-4;

}  // namespace octavo::bench
