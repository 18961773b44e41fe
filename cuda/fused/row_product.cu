// Products of few rows with a weight of numbers.
#include "cuda/device/tensor_map.h"
#include "cuda/fused/fused.h"
#include "cuda/fused/row_launch.cuh"

namespace octavo::cuda {
namespace {

constexpr int64_t kSlabColumns = rows::kSlabBytes / 2;

bool isHalf(DType dtype) { return dtypeBytes(dtype) == 2; }

}  // namespace

bool canMultiplyRows(const FusedLinear& fused, const Matrix& weight, const DeviceTraits& traits) {
  constexpr int64_t kMost = int64_t{1} << 31;
  const Matrix& x = fused.x;
  const bool hasKernel = traits.architecture >= 90 && isHalf(x.dtype) && weight.dtype == x.dtype &&
                         (!fused.norm.data || (isHalf(fused.norm.dtype) && isChunked(fused.norm)));
  const bool isWhole = isChunked(x) && isChunked(weight) && x.columns % kSlabColumns == 0 && weight.rows < kMost &&
                       x.columns < kMost;
  return hasKernel && isWhole && x.rows > 0 && x.rows <= kMostFusedRows && fused.out.columns > 0 &&
         rows::fits(x.rows, ceilDivide(x.columns, rows::kSlabs * kSlabColumns));
}

void launchRowProduct(const FusedLinear& fused, const Matrix& weight, const Vector& bias, const DeviceTraits& traits,
                      cudaStream_t stream) {
  rows::Arguments a = rows::argumentsOf(fused, bias, rows::kSlabs * kSlabColumns);
  a.map = slabMapOf(weight, a.outputs, rows::kSlabs);
  if (weight.dtype == DType::kBF16) rows::launch<rows::DenseRows<DType::kBF16>>(a, traits, stream);
  else rows::launch<rows::DenseRows<DType::kF16>>(a, traits, stream);
}

}  // namespace octavo::cuda
