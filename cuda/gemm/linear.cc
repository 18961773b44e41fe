#include "cuda/gemm/linear.h"

#include <algorithm>

#include "cuda/gemm/linear_table.h"

namespace octavo::cuda {

namespace {

constexpr int64_t kSmallRows = 16;  // up to here the tensor-core kernel reads the weight at full speed

}  // namespace

bool canPlan(const Matrix& x, const Matrix& weight) {
  constexpr int64_t kMost = int64_t{1} << 31;
  return x.rows > kSmallRows && std::max({x.rows, weight.rows, x.columns}) < kMost &&
         canMultiplyOnTensorCores(x, weight);
}

void launchPlanned(const Matrix& out, const Matrix& x, const Matrix& weight, const Vector& bias,
                   const LinearPlan& plan, const DeviceTraits& traits, cudaStream_t stream) {
  const bool isWide = canMultiplyWide(x, weight, traits);
  if (isWide && plan.rows == kFittedRows) launchFittedGemm(out, x, weight, bias, plan, traits, stream);
  else if (isWide) launchWideGemm(out, x, weight, bias, plan, traits, stream);
  else if (plan.rows == kLargeRows) launchLargeGemm(out, x, weight, bias, stream);
  else launchTensorGemm(out, x, weight, bias, plan.columns, stream);
}

// Every kernel sums a row's products in an order that depends on K alone. With x and weight of one aligned 16-bit dtype
// all sizes use one kernel family, so a row's result does not depend on the number of rows, but where two blocks divide
// K (linear_plan.cc: from 65 to 256 rows, K of 2048 and more, where that pays); otherwise it may change in the last bits between
// 32 and 33 rows.
void launchLinear(const Matrix& out, const Matrix& x, const Matrix& weight, const Vector& bias,
                  const DeviceTraits& traits, cudaStream_t stream) {
  if (out.rows == 0 || out.columns == 0) return;
  if (canPlan(x, weight)) {
    const LinearPlan plan = planFor({x.rows, weight.rows, x.columns}, traits);
    launchPlanned(out, x, weight, bias, plan, traits, stream);
  } else if (canMultiplyOnTensorCores(x, weight)) {
    launchTensorGemm(out, x, weight, bias, kAmpereTiles[1].columns, stream);
  } else if (x.rows <= 32) {
    launchGemv(out, x, weight, bias, stream);
  } else {
    launchScalarGemm(out, x, weight, bias, stream);
  }
}

}  // namespace octavo::cuda
