#include "cuda/quantized/w8a8.h"

namespace octavo::cuda {

namespace {

constexpr int64_t kBlock = 128;                  // rows and columns that share a scale
constexpr int64_t kMostExact = 131072;           // products of int8 that an int32 holds
constexpr int64_t kMostRows = int64_t{1} << 31;  // coordinates of the copy engine

bool hasRowScales(const QuantizedMatrix& weight) {
  const ActivationScaling scaling = weight.activations.scaling;
  return weight.groups == 1 && (scaling == ActivationScaling::kToken || scaling == ActivationScaling::kStatic);
}

bool hasBlockScales(const QuantizedMatrix& weight) {
  return weight.groupRows == kBlock && weight.groupColumns == kBlock && weight.activations.group == kBlock &&
         weight.activations.scaling == ActivationScaling::kGroup;
}

}  // namespace

bool canMultiplyCodes(const QuantizedMatrix& weight, const DeviceTraits& traits) {
  const bool isPlain = weight.order == CodeOrder::kRows && !weight.zeros && !weight.groupIndex;
  if (!isPlain || weight.rows >= kMostRows || weight.columns >= kMostRows) return false;
  if (weight.codeType == CodeType::kI8) return hasRowScales(weight) && weight.columns <= kMostExact;
  const bool isE4m3 = weight.codeType == CodeType::kE4M3 && traits.architecture >= 90;
  return isE4m3 && (hasRowScales(weight) || hasBlockScales(weight));
}

void launchCodedProduct(const Matrix& out, const CodedInput& x, const QuantizedMatrix& weight, const Vector& bias,
                        const DeviceTraits& traits, cudaStream_t stream) {
  const w8a8::Product product{out, x, weight, bias};
  if (weight.codeType == CodeType::kI8 && traits.architecture < 90) w8a8::launchInt8Ampere(product, traits, stream);
  else if (weight.codeType == CodeType::kI8) w8a8::launchInt8Rows(product, traits, stream);
  else if (hasBlockScales(weight)) w8a8::launchE4m3Blocks(product, traits, stream);
  else w8a8::launchE4m3Rows(product, traits, stream);
}

bool canMultiplyGroups(const QuantizedMatrix& weight, const DeviceTraits& traits) {
  return weight.codeType == CodeType::kE4M3 && hasBlockScales(weight) && canMultiplyCodes(weight, traits);
}

void launchGroupedProduct(const Matrix& out, const CodedInput& x, const QuantizedMatrix& weight,
                          const ExpertRows& experts, const DeviceTraits& traits, cudaStream_t stream) {
  const Vector noBias;
  w8a8::launchGroupedE4m3Blocks({out, x, weight, noBias, experts}, traits, stream);
}

}  // namespace octavo::cuda
