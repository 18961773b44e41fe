#include "binding/ops_weights.h"

#include <limits>

#include "base/error.h"

namespace octavo {

namespace {

constexpr int64_t kMostCount = std::numeric_limits<int32_t>::max();

int64_t ceilDivide(int64_t value, int64_t divisor) { return (value + divisor - 1) / divisor; }

ActivationQuantization readActivations(const OpCall& call, const Fields& given, CodeType codes) {
  ActivationQuantization read;
  read.scaling = parseActivationScaling(given.text("scaling").c_str());
  if (read.scaling == ActivationScaling::kGroup) {
    read.group = static_cast<int32_t>(given.integer("group", 1, kMostCount));
  }
  if (read.scaling == ActivationScaling::kStatic) {
    constexpr double kLeast = std::numeric_limits<float>::min(), kLargest = std::numeric_limits<float>::max();
    read.inputScale = static_cast<float>(given.number("inputScale", kLeast, kLargest));
  }
  const bool hasCodes = codes == CodeType::kI8 || codes == CodeType::kE4M3;
  if (read.scaling == ActivationScaling::kNone || hasCodes) return read;
  throw Error(ErrorCode::kInvalidArgument, call.fields().path() + ": activations cannot become " +
                                               codeTypeName(codes) + " codes: expected a weight of i8 or e4m3");
}

}  // namespace

QuantizedMatrix readWeight(const OpCall& call, const char* name) {
  const Fields given = call.fields().fields(name);
  QuantizedMatrix weight;
  weight.codeType = parseCodeType(given.text("codeType").c_str());
  weight.rows = given.integer("rows", 1, kMostCount);
  weight.columns = given.integer("columns", 1, kMostCount);
  weight.codeStride = QuantizedMatrix::strideOf(weight.codeType, weight.columns);
  weight.groupRows = static_cast<int32_t>(given.integer("groupRows", 1, kMostCount));
  weight.groupColumns = static_cast<int32_t>(given.integer("groupColumns", 1, kMostCount));
  weight.groups = ceilDivide(weight.columns, weight.groupColumns);
  weight.scaleType = given.floatDType("scaleType");
  const int64_t rows = QuantizedMatrix::paddedRows(weight.codeType, weight.rows);
  const int64_t scales = ceilDivide(rows, weight.groupRows) * weight.groups;
  weight.order = given.has("isArranged") && given.flag("isArranged") ? CodeOrder::kTiles : CodeOrder::kRows;
  weight.codes = call.bytes(given, "codes", rows * weight.codeStride);
  weight.scales = call.bytes(given, "scales", scales * static_cast<int64_t>(dtypeBytes(weight.scaleType)));
  if (given.has("zeros")) weight.zeros = static_cast<const uint8_t*>(call.bytes(given, "zeros", scales));
  if (given.has("groupIndex")) {
    weight.groupIndex = static_cast<const int32_t*>(call.bytes(given, "groupIndex", weight.columns * 4));
  }
  if (given.has("activations")) {
    weight.activations = readActivations(call, given.fields("activations"), weight.codeType);
  }
  return weight;
}

LinearScratch takeScratch(const OpCall& call, Upload& upload, const Matrix& x, const QuantizedMatrix& weight,
                          int64_t rows) {
  if (call.device().device().sharesHostMemory()) return {};
  const LinearScratchLayout layout(x.dtype, x.rows, rows, weight.columns, weight.activations.scaling);
  return {upload.results<char>(layout.bytes), layout.bytes};
}

}  // namespace octavo
