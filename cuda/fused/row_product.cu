// Products of few rows with a weight of numbers.
#include "cuda/device/tensor_map.h"
#include "cuda/fused/row_forms.h"
#include "cuda/fused/row_launch.cuh"

namespace octavo::cuda {
namespace {

constexpr int64_t kSlabColumns = rows::kSlabBytes / 2;

int64_t piecesOf(const Matrix& x) { return ceilDivide(x.columns, rows::kSlabs * kSlabColumns); }

rows::Places placesOf(const Matrix& x) {
  rows::Places places;
  places.steps = piecesOf(x) * rows::kTeamWarps;
  places.rows = x.rows;
  return places;
}

}  // namespace

bool canMultiplyRows(const FusedLinear& fused, const Matrix& weight, const DeviceTraits& traits) {
  return traits.architecture >= 90 && rows::hasFewRows(fused) && weight.dtype == fused.x.dtype && isChunked(weight) &&
         fused.x.columns % kSlabColumns == 0 && rows::fits(placesOf(fused.x));
}

void launchRowProduct(const FusedLinear& fused, const Matrix& weight, const Vector& bias, const DeviceTraits& traits,
                      cudaStream_t stream) {
  const int outputs = rows::slabOutputs(fused);
  rows::Arguments a = rows::argumentsOf(fused, bias, outputs, piecesOf(fused.x), placesOf(fused.x));
  a.map = slabMapOf(weight, outputs, rows::kSlabs);
  if (weight.dtype == DType::kBF16) rows::launch<rows::DenseRows<DType::kBF16>>(a, traits, stream);
  else rows::launch<rows::DenseRows<DType::kF16>>(a, traits, stream);
}

bool canMultiplyRows(const FusedLinear& fused, const QuantizedMatrix& weight, const DeviceTraits& traits) {
  if (traits.architecture < 90 || !rows::hasFewRows(fused)) return false;
  if (weight.codeType == CodeType::kE4M3) return rows::canMultiplyE4m3(fused, weight, traits);
  return rows::canMultiplyTiles(fused, weight);
}

void launchRowProduct(const FusedLinear& fused, const QuantizedMatrix& weight, const Vector& bias,
                      const DeviceTraits& traits, cudaStream_t stream) {
  if (weight.codeType == CodeType::kE4M3) rows::launchE4m3(fused, weight, bias, traits, stream);
  else rows::launchTiles(fused, weight, bias, traits, stream);
}

}  // namespace octavo::cuda
