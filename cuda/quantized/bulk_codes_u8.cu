#include "cuda/quantized/bulk_codes.cuh"
#include "cuda/quantized/tile_products.h"

namespace octavo::cuda {

void launchBulkCodesU8(const Matrix& out, const Matrix& x, const QuantizedMatrix& weight, const Vector& bias,
                       int multiprocessors, cudaStream_t stream) {
  launchBulkCodesOf<8>(out, x, weight, bias, multiprocessors, stream);
}

}  // namespace octavo::cuda
