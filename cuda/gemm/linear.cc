#include "cuda/gemm/linear.h"

namespace octavo::cuda {

namespace {

constexpr int64_t kWideRows = 128;  // from here on the tiles of the Hopper kernel are full

}  // namespace

// Every kernel sums a row's products in an order that depends on K alone. With x and weight of one aligned
// 16-bit dtype all sizes use one kernel family, so a row's result does not depend on the number of rows at
// all; otherwise it may change in the last bits between 32 and 33 rows.
void launchLinear(const Matrix& out, const Matrix& x, const Matrix& weight, const Vector& bias,
                  const DeviceTraits& traits, cudaStream_t stream) {
  if (out.rows == 0 || out.columns == 0) return;
  if (x.rows > kWideRows && canMultiplyWide(x, weight, traits)) launchWideGemm(out, x, weight, bias, traits, stream);
  else if (canMultiplyOnTensorCores(x, weight)) launchTensorGemm(out, x, weight, bias, traits, stream);
  else if (x.rows <= 32) launchGemv(out, x, weight, bias, stream);
  else launchScalarGemm(out, x, weight, bias, stream);
}

}  // namespace octavo::cuda
