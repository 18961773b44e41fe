#include <algorithm>

#include "base/error.h"
#include "cuda/gemm/linear.h"
#include "cuda/quantized/quantized.h"
#include "cuda/quantized/tile_products.h"
#include "ops/tensor_parts.h"

namespace octavo::cuda {

namespace {

constexpr int64_t kLeastNarrowRows = 9;  // of x: fewer are multiplied as 16, for nothing
constexpr int64_t kFewRows = 16;  // up to here codes in rows are read as they are, beyond they become numbers first

void requireScratch(const LinearScratch& scratch, const LinearScratchLayout& layout) {
  if (scratch.bytes >= layout.activationBytes) return;
  throw Error(ErrorCode::kInternal, "linear: quantised activations take " + std::to_string(layout.activationBytes) +
                                        " bytes of scratch, there are " + std::to_string(scratch.bytes));
}

/** x as codes and scales, in the first part of the scratch. */
CodedInput codeInput(const Matrix& x, const QuantizedMatrix& weight, const LinearScratch& scratch,
                     const LinearScratchLayout& layout, const DeviceTraits& traits, cudaStream_t stream) {
  requireScratch(scratch, layout);
  auto* const bytes = static_cast<uint8_t*>(scratch.data);
  const CodedInput coded{bytes, reinterpret_cast<float*>(bytes + layout.scaleOffset), x.rows, x.columns,
                         layout.codeStride, static_cast<int32_t>(layout.scaleStride)};
  launchQuantizeCodes(coded, x, weight.codeType, weight.activations, traits, stream);
  return coded;
}

/** x after it was quantised, in the first part of the scratch. */
Matrix quantizeInput(const Matrix& x, const QuantizedMatrix& weight, const LinearScratch& scratch,
                     const LinearScratchLayout& layout, cudaStream_t stream) {
  if (weight.activations.scaling == ActivationScaling::kNone) return x;
  requireScratch(scratch, layout);
  const Matrix quantized{scratch.data, x.dtype, x.rows, x.columns, layout.activationStride};
  launchQuantizeRows(quantized, x, weight.codeType, weight.activations, stream);
  return quantized;
}

/** Of 16 bits, rows on 16-byte boundaries, no more than the copy engine describes. */
bool canMeetTiles(const Matrix& x, const QuantizedMatrix& weight) {
  constexpr int64_t kMost = int64_t{1} << 30, kMostStride = int64_t{1} << 26;
  const bool isAligned = reinterpret_cast<uintptr_t>(x.data) % 16 == 0 && x.stride % 8 == 0;
  return weight.order == CodeOrder::kTiles && !weight.groupIndex && dtypeBytes(x.dtype) == 2 && isAligned &&
         x.rows < kMost && x.stride < kMostStride && weight.rows < kMost;
}

struct TileProducts {
  FewProduct* few;
  TileProduct* wide;
};

TileProducts tileProductsFor(const QuantizedMatrix& weight) {
  constexpr TileProducts kProducts[] = {{launchFewCodesU2, launchWideCodesU2},
                                        {launchFewCodesU3, launchWideCodesU3},
                                        {launchFewCodesU4, launchWideCodesU4},
                                        {launchFewCodesU8, launchWideCodesU8}};
  return kProducts[static_cast<int>(weight.codeType) - static_cast<int>(CodeType::kU2)];
}

/** The product of few rows, or of experts. */
FewProduct* fewProductFor(const Matrix& out, const Matrix& x, const QuantizedMatrix& weight, const ExpertRows& experts,
                          const DeviceTraits& traits) {
  const bool isOfTiles = x.columns % QuantizedMatrix::kTileColumns == 0 &&
                         (experts.count == 0 || out.columns % QuantizedMatrix::kTileRows == 0);
  // Where a matrix has fewer tiles its K is read by more blocks of the other kernel.
  const bool fillsCard = 3 * (out.columns / QuantizedMatrix::kTileRows) >= 2 * traits.multiprocessors;
  const bool isNarrow = experts.count > 0 || (x.rows >= kLeastNarrowRows && fillsCard);
  if (traits.architecture >= 90 && isOfTiles && isNarrow) {
    if (weight.codeType == CodeType::kU3) return launchNarrowCodesU3;
    if (weight.codeType == CodeType::kU4) return launchNarrowCodesU4;
  }
  return tileProductsFor(weight).few;
}

/** False where no kernel multiplies tiles: many rows of x on cards before Hopper, and x of other forms. */
bool multiplyTiles(const Matrix& out, const Matrix& x, const QuantizedMatrix& weight, const Vector& bias,
                   const DeviceTraits& traits, cudaStream_t stream) {
  if (!canMeetTiles(x, weight)) return false;
  if (x.rows <= kFewTileRows) fewProductFor(out, x, weight, {}, traits)(out, x, weight, bias, {}, traits, stream);
  else if (traits.architecture < 90) return false;
  else tileProductsFor(weight).wide(out, x, weight, bias, traits.multiprocessors, stream);
  return true;
}

/** Rows of x whose columns stand as those of an act-order weight in tiles, as many as fit. */
Matrix placedRows(const Matrix& x, const LinearScratch& scratch) {
  const int64_t stride = (x.columns + 7) / 8 * 8;
  const int64_t most = static_cast<int64_t>(scratch.bytes) / (stride * static_cast<int64_t>(dtypeBytes(x.dtype)));
  return {scratch.data, x.dtype, std::min({x.rows, most, kMostPlacedRows}), x.columns, stride};
}

bool isPlaced(const Matrix& x, const QuantizedMatrix& weight) {
  return weight.order == CodeOrder::kTiles && weight.groupIndex && dtypeBytes(x.dtype) == 2;
}

/** multiplyTiles with a copy of x, whose columns change places, some rows at a time. */
bool multiplyPlaced(const Matrix& out, const Matrix& x, QuantizedMatrix weight, const Vector& bias,
                    const LinearScratch& scratch, const DeviceTraits& traits, cudaStream_t stream) {
  Matrix placed = placedRows(x, scratch);
  if (placed.rows == 0 || (traits.architecture < 90 && x.rows > kFewTileRows)) return false;
  const int32_t* const placeOf = weight.groupIndex;
  weight.groupIndex = nullptr;
  if (!canMeetTiles(placed, weight)) return false;
  for (int64_t first = 0; first < x.rows; first += placed.rows) {
    placed.rows = std::min(placed.rows, x.rows - first);
    launchPlaceColumns(placed, rowsOf(x, first, placed.rows), placeOf, stream);
    multiplyTiles(rowsOf(out, first, placed.rows), placed, weight, bias, traits, stream);
  }
  return true;
}

/** False where the experts' rows do not begin with a strip, there are too many, or x is of another form. */
bool multiplyTilesOfExperts(const Matrix& out, const Matrix& x, QuantizedMatrix weight, const ExpertRows& experts,
                            const LinearScratch& scratch, const DeviceTraits& traits, cudaStream_t stream) {
  if (out.columns % kExpertColumns != 0 || experts.count > kMostFewExperts) return false;
  Matrix input = x;
  if (isPlaced(x, weight)) {
    input = placedRows(x, scratch);
    if (input.rows < x.rows) return false;
    launchPlaceColumns(input, x, weight.groupIndex, stream);
    weight.groupIndex = nullptr;
  }
  if (!canMeetTiles(input, weight)) return false;
  fewProductFor(out, input, weight, experts, traits)(out, input, weight, {}, experts, traits, stream);
  return true;
}

}  // namespace

// Codes in tiles are multiplied as they lie. Quantised activations meet codes as codes where that kernel applies.
// Elsewhere, with few rows the sums are of fp32 numbers; with more, of numbers rounded to x's dtype, on the tensor
// cores where it has 16 bits: a row's result may change between kFewRows (kFewTileRows) rows and one more; with tiles
// also where the number of rows decides how K is shared.
void launchQuantizedLinear(const Matrix& out, const Matrix& x, const QuantizedMatrix& weight, const Vector& bias,
                           const LinearScratch& scratch, const DeviceTraits& traits, cudaStream_t stream) {
  if (out.rows == 0 || out.columns == 0) return;
  if (multiplyTiles(out, x, weight, bias, traits, stream)) return;
  if (isPlaced(x, weight) && multiplyPlaced(out, x, weight, bias, scratch, traits, stream)) return;
  const LinearScratchLayout layout(x.dtype, x.rows, weight.rows, weight.columns, weight.activations.scaling);
  if (canMultiplyCodes(weight, traits)) {
    launchCodedProduct(out, codeInput(x, weight, scratch, layout, traits, stream), weight, bias, traits, stream);
    return;
  }
  const Matrix input = quantizeInput(x, weight, scratch, layout, stream);
  if (x.rows <= kFewRows || scratch.bytes < layout.bytes) {
    launchQuantizedGemv(out, input, weight, bias, stream);
    return;
  }
  void* const numbers = static_cast<char*>(scratch.data) + layout.activationBytes;
  for (int64_t first = 0; first < weight.rows; first += layout.weightRows) {
    const int64_t count = std::min(layout.weightRows, weight.rows - first);
    const Matrix rows{numbers, x.dtype, count, weight.columns, layout.weightStride};
    launchDequantize(rows, weight, first, stream);
    launchLinear(columnsOf(out, first, count), input, rows, elementsOf(bias, first, count), traits, stream);
  }
}

void launchGroupedLinear(const Matrix& out, const Matrix& x, const QuantizedMatrix& weight, const ExpertRows& experts,
                         const LinearScratch& scratch, const DeviceTraits& traits, cudaStream_t stream) {
  if (out.rows == 0 || out.columns == 0 || experts.count == 0 || experts.mostRows == 0) return;
  const LinearScratchLayout layout(x.dtype, x.rows, out.columns, weight.columns, weight.activations.scaling);
  if (multiplyTilesOfExperts(out, x, weight, experts, scratch, traits, stream)) return;
  if (canMultiplyGroups(weight, traits)) {
    launchGroupedProduct(out, codeInput(x, weight, scratch, layout, traits, stream), weight, experts, traits, stream);
  } else {
    launchGroupedGemv(out, quantizeInput(x, weight, scratch, layout, stream), weight, experts, stream);
  }
}

}  // namespace octavo::cuda
