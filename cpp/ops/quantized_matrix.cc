#include "ops/quantized_matrix.h"

#include <cstring>
#include <string>

#include "base/error.h"

namespace octavo {

namespace {

constexpr CodeType kCodeTypes[] = {CodeType::kU2, CodeType::kU3, CodeType::kU4,
                                   CodeType::kU8, CodeType::kI8, CodeType::kE4M3};
constexpr ActivationScaling kScalings[] = {ActivationScaling::kNone, ActivationScaling::kStatic,
                                           ActivationScaling::kToken, ActivationScaling::kGroup};

bool isUnsigned(CodeType type) { return type <= CodeType::kU8; }

int64_t alignedTo(int64_t value, int64_t step) { return (value + step - 1) / step * step; }

}  // namespace

const char* codeTypeName(CodeType type) {
  switch (type) {
    case CodeType::kU2: return "u2";
    case CodeType::kU3: return "u3";
    case CodeType::kU4: return "u4";
    case CodeType::kU8: return "u8";
    case CodeType::kI8: return "i8";
    case CodeType::kE4M3: return "e4m3";
  }
  return "unknown";
}

CodeType parseCodeType(const char* name) {
  for (const CodeType type : kCodeTypes) {
    if (std::strcmp(name, codeTypeName(type)) == 0) return type;
  }
  throw Error(ErrorCode::kInvalidArgument,
              std::string("\"") + name + "\" is not a type of codes: expected u2, u3, u4, u8, i8 or e4m3");
}

const char* activationScalingName(ActivationScaling scaling) {
  switch (scaling) {
    case ActivationScaling::kNone: return "none";
    case ActivationScaling::kStatic: return "static";
    case ActivationScaling::kToken: return "token";
    case ActivationScaling::kGroup: return "group";
  }
  return "unknown";
}

ActivationScaling parseActivationScaling(const char* name) {
  for (const ActivationScaling scaling : kScalings) {
    if (std::strcmp(name, activationScalingName(scaling)) == 0) return scaling;
  }
  throw Error(ErrorCode::kInvalidArgument,
              std::string("\"") + name + "\" is not a scaling of activations: expected none, static, token or group");
}

int64_t QuantizedMatrix::strideOf(CodeType type, int64_t columns) {
  const int64_t bytes = (columns * codeBits(type) + 7) / 8;
  return alignedTo(bytes, isUnsigned(type) ? kTileColumns * codeBits(type) / 8 : kRowAlignment);
}

int64_t QuantizedMatrix::paddedRows(CodeType type, int64_t rows) {
  return isUnsigned(type) ? alignedTo(rows, kTileRows) : rows;
}

bool QuantizedMatrix::canBeTiles() const {
  if (!hasWholeTiles || !isUnsigned(codeType) || groupRows != 1) return false;
  if (activations.scaling != ActivationScaling::kNone) return false;
  const bool isShift = groupColumns >= 32 && (groupColumns & (groupColumns - 1)) == 0;
  return (groups == 1 || isShift) && dtypeBytes(scaleType) == 2;
}

}  // namespace octavo
