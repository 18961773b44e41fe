// The operands of a case in device memory, and how far the product is from fp64.
#pragma once

#include <cuda_runtime_api.h>

#include "ops/tensor.h"
#include "scripts/bench/native/device_array.h"
#include "scripts/bench/native/gemm_case.h"

namespace octavo::bench {

/**
 * As many weights as take turns without meeting in the L2. Rows that a kernel must not use are NaN: a tile of them
 * behind x, behind the last weight and behind out, which is NaN until it is written.
 */
class GemmOperands {
 public:
  GemmOperands(const GemmCase& of, cudaStream_t stream);

  int weights() const { return weights_; }
  Matrix x() const { return {x_.data(), DType::kBF16, case_.rows, case_.depth, case_.depth}; }
  Matrix out() const { return {out_.data(), DType::kBF16, case_.rows, case_.columns, case_.columns}; }
  Matrix weight(int turn) const;

  /**
   * The largest |out − Σ a·b| / Σ |a·b| of elements spread over the result of weight(turn), in fp64 on the host; NaN
   * where one was not written or a row behind the result was.
   */
  double error(int turn) const;

 private:
  bool isGuardWhole() const;

  GemmCase case_;
  int weights_ = 0;
  DeviceArray<uint16_t> x_, weight_, out_;
};

/** Rounding to bf16 alone errs by 2⁻⁹ of an element, at K = 4096 up to 3e-4 of its Σ |a·b|. */
constexpr double kGemmTolerance = 5e-4;

}  // namespace octavo::bench
