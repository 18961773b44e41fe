#include "cuda/quantized/skinny_codes.cuh"
#include "cuda/quantized/tile_products.h"

namespace octavo::cuda {

void launchSkinnyCodesU2(const Matrix& out, const Matrix& x, const QuantizedMatrix& weight, const Vector& bias,
                         int multiprocessors, cudaStream_t stream) {
  launchSkinnyCodesOf<2>(out, x, weight, bias, multiprocessors, stream);
}

}  // namespace octavo::cuda
