// Products of few rows with e4m3 codes.
#include "cuda/device/tensor_map.h"
#include "cuda/fused/row_codes.cuh"
#include "cuda/fused/row_forms.h"
#include "cuda/fused/row_launch.cuh"
#include "cuda/quantized/quantized.h"

namespace octavo::cuda::rows {
namespace {

bool hasGroups(const QuantizedMatrix& weight) { return weight.activations.scaling == ActivationScaling::kGroup; }

int64_t piecesOf(const Matrix& x) { return ceilDivide(x.columns, kSlabs * kSlabBytes); }

Places placesOf(const Matrix& x, const QuantizedMatrix& weight) {
  Places places;
  places.steps = piecesOf(x) * kTeamWarps;
  places.rows = x.rows;
  places.inputScales = x.rows * (hasGroups(weight) ? x.columns / kScaledCodes : 1);
  return places;
}

template <DType kType>
void launchType(const Arguments& a, bool hasGroups, const DeviceTraits& traits, cudaStream_t stream) {
  if (hasGroups) launch<CodeRows<kType, true>>(a, traits, stream);
  else launch<CodeRows<kType, false>>(a, traits, stream);
}

}  // namespace

bool canMultiplyE4m3(const FusedLinear& fused, const QuantizedMatrix& weight, const DeviceTraits& traits) {
  const bool splitsBlocks = hasGroups(weight) && fused.end == ProductEnd::kSwiglu && fused.out.columns % 8 != 0;
  return canMultiplyCodes(weight, traits) && !splitsBlocks && fused.x.columns % kSlabBytes == 0 &&
         fused.x.columns <= kMostCodes && fits(placesOf(fused.x, weight));
}

void launchE4m3(const FusedLinear& fused, const QuantizedMatrix& weight, const Vector& bias, const DeviceTraits& traits,
                cudaStream_t stream) {
  const int outputs = slabOutputs(fused);
  Arguments a = argumentsOf(fused, bias, outputs, piecesOf(fused.x), placesOf(fused.x, weight));
  a.map = codeSlabMapOf(weight.codes, weight.rows, weight.columns, weight.codeStride, outputs, kSlabs);
  a.scales = weight.scales;
  a.scaleType = weight.scaleType;
  a.groups = static_cast<int32_t>(weight.groups);
  a.groupRows = weight.groupRows;
  a.activations = weight.activations;
  a.hasRowScales = !hasGroups(weight);
  if (fused.x.dtype == DType::kBF16) launchType<DType::kBF16>(a, hasGroups(weight), traits, stream);
  else launchType<DType::kF16>(a, hasGroups(weight), traits, stream);
}

}  // namespace octavo::cuda::rows
