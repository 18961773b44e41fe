#include "ops/linear_scratch.h"

#include <algorithm>

namespace octavo {

namespace {

constexpr int64_t kChunk = 8;       // elements: rows begin where 16-byte accesses may
constexpr int64_t kTileRows = 128;  // of the widest tile of a product
constexpr int64_t kPart = 256;      // bytes: where a part begins

int64_t alignedTo(int64_t value, int64_t step) { return (value + step - 1) / step * step; }

}  // namespace

LinearScratchLayout::LinearScratchLayout(DType dtype, int64_t tokens, int64_t rows, int64_t columns,
                                         ActivationScaling scaling) {
  const auto size = static_cast<int64_t>(dtypeBytes(dtype));
  weightStride = alignedTo(columns, kChunk);
  const int64_t fitting = static_cast<int64_t>(kWeightBytes) / (weightStride * size) / kTileRows * kTileRows;
  weightRows = std::min(rows, std::max(fitting, kTileRows));
  weightBytes = static_cast<size_t>(weightRows * weightStride * size);
  if (scaling != ActivationScaling::kNone) {
    activationStride = weightStride;
    codeStride = alignedTo(columns, QuantizedMatrix::kRowAlignment);
    scaleStride = alignedTo(tokens, 4);
    scaleOffset = static_cast<size_t>(alignedTo(tokens * codeStride, kPart));
    const bool hasGroups = scaling == ActivationScaling::kGroup;
    const int64_t groups = hasGroups ? alignedTo(columns, kScaledColumns) / kScaledColumns : 1;
    const int64_t scaleBytes = alignedTo(groups * scaleStride * static_cast<int64_t>(sizeof(float)), kPart);
    activationBytes = std::max(static_cast<size_t>(alignedTo(tokens * activationStride * size, kPart)),
                               scaleOffset + static_cast<size_t>(scaleBytes));
  }
  bytes = activationBytes + weightBytes;
}

size_t LinearScratchLayout::arrangeBytes(int64_t rows, int64_t columns) {
  constexpr int64_t kMost = int64_t{8} << 20, kTileRows = QuantizedMatrix::kTileRows;
  const int64_t stride = QuantizedMatrix::strideOf(CodeType::kU8, columns);  // no codes take more
  const int64_t copies = std::max(std::min(alignedTo(rows, kTileRows) * stride, kMost), kTileRows * stride);
  return static_cast<size_t>(copies) + orderBytes(columns);
}

size_t LinearScratchLayout::orderBytes(int64_t columns) {
  return static_cast<size_t>(alignedTo((columns + 1) * static_cast<int64_t>(sizeof(int32_t)), kPart));
}

}  // namespace octavo
