#include "cuda/gemm/linear.h"

namespace octavo::cuda {

namespace {

constexpr int64_t kWideRows = 128;  // from here on the tiles of the wide kernel are full
constexpr int64_t kSmallRows = 16;  // up to here the tensor-core kernel reads the weight as fast as the skinny one

bool isSkinny(const Matrix& x) { return x.rows > kSmallRows && x.rows <= kSkinnyRows; }

}  // namespace

// Every kernel sums a row's products in an order that depends on K alone. With x and weight of one aligned
// 16-bit dtype all sizes use one kernel family, so a row's result does not depend on the number of rows at
// all; otherwise it may change in the last bits between 32 and 33 rows.
void launchLinear(const Matrix& out, const Matrix& x, const Matrix& weight, const Vector& bias,
                  const DeviceTraits& traits, cudaStream_t stream) {
  if (out.rows == 0 || out.columns == 0) return;
  if (x.rows > kWideRows && canMultiplyWide(x, weight, traits)) launchWideGemm(out, x, weight, bias, traits, stream);
  else if (isSkinny(x) && canMultiplyWide(x, weight, traits)) launchSkinnyGemm(out, x, weight, bias, traits, stream);
  else if (canMultiplyOnTensorCores(x, weight)) launchTensorGemm(out, x, weight, bias, traits, stream);
  else if (x.rows <= 32) launchGemv(out, x, weight, bias, stream);
  else launchScalarGemm(out, x, weight, bias, stream);
}

}  // namespace octavo::cuda
