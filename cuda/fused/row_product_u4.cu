// Products of few rows with codes of four bits in tiles.
#include "cuda/device/tensor_map.h"
#include "cuda/fused/row_forms.h"
#include "cuda/fused/row_launch.cuh"
#include "cuda/fused/row_tiles.cuh"

namespace octavo::cuda::rows {
namespace {

constexpr int64_t kStepColumns = kStepBytes / 2;

bool gates(const FusedLinear& fused) { return fused.end == ProductEnd::kSwiglu; }

int stripsOf(const FusedLinear& fused) { return gates(fused) ? kStrips / 2 : kStrips; }

int64_t slotColumns(const FusedLinear& fused) { return static_cast<int64_t>(stripsOf(fused)) * kTileColumns; }

int64_t piecesOf(const FusedLinear& fused) { return ceilDivide(fused.x.columns, slotColumns(fused)); }

Places placesOf(const FusedLinear& fused) {
  Places places;
  places.slotBytes = kTileSlotBytes;
  places.sets = gates(fused) ? 2 : 1;
  places.steps = piecesOf(fused) * slotColumns(fused) / kStepColumns;
  places.rows = fused.x.rows;
  return places;
}

}  // namespace

bool canMultiplyTiles(const FusedLinear& fused, const QuantizedMatrix& weight) {
  const bool halves = !gates(fused) || fused.out.columns % kStripRows == 0;
  return weight.codeType == CodeType::kU4 && weight.order == CodeOrder::kTiles && !weight.groupIndex && halves &&
         fused.x.columns % kStepColumns == 0 && fits(placesOf(fused));
}

void launchTiles(const FusedLinear& fused, const QuantizedMatrix& weight, const Vector& bias, const DeviceTraits& traits,
                 cudaStream_t stream) {
  Arguments a = argumentsOf(fused, bias, kStripRows, piecesOf(fused), placesOf(fused));
  a.groupShift = groupShiftOf(weight);
  a.slotGroups = static_cast<int32_t>(std::max<int64_t>(1, slotColumns(fused) >> a.groupShift));
  a.scaleType = weight.scaleType;
  a.hasZeros = weight.zeros != nullptr;
  a.upRow = static_cast<int32_t>(fused.out.columns / kStripRows);
  a.expected = kSlotBytes + (gates(fused) ? 2 : 1) * a.slotGroups * kStripRows * (a.hasZeros ? 3 : 2);
  a.map = stripMapOf(weight, stripsOf(fused));
  a.scaleMap = stripScaleMapOf(weight, a.slotGroups);
  if (a.hasZeros) a.zeroMap = stripZeroMapOf(weight, a.slotGroups);
  if (fused.x.dtype == DType::kBF16) launch<TileCodes<DType::kBF16>>(a, traits, stream);
  else launch<TileCodes<DType::kF16>>(a, traits, stream);
}

}  // namespace octavo::cuda::rows
