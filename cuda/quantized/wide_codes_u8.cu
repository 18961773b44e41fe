#include "cuda/quantized/tile_products.h"
#include "cuda/quantized/wide_codes.cuh"

namespace octavo::cuda {

void launchWideCodesU8(const Matrix& out, const Matrix& x, const QuantizedMatrix& weight, const Vector& bias,
                       int multiprocessors, cudaStream_t stream) {
  launchWideCodesOf<8>(out, x, weight, bias, multiprocessors, stream);
}

}  // namespace octavo::cuda
