#include "base/dtype.h"

#include <cstring>

#include "base/error.h"
#include "base/half.h"

namespace octavo {

namespace {

constexpr DType kEveryDType[] = {DType::kF32, DType::kBF16, DType::kF16, DType::kI32, DType::kI64,
                                 DType::kU8,  DType::kE4M3, DType::kI8};

}  // namespace

const char* dtypeName(DType dtype) {
  switch (dtype) {
    case DType::kF32: return "fp32";
    case DType::kBF16: return "bf16";
    case DType::kF16: return "fp16";
    case DType::kI32: return "i32";
    case DType::kI64: return "i64";
    case DType::kU8: return "u8";
    case DType::kE4M3: return "fp8_e4m3";
    case DType::kI8: return "int8";
  }
  return "unknown";
}

DType parseDType(const char* name) {
  for (DType dtype : kEveryDType) {
    if (std::strcmp(name, dtypeName(dtype)) == 0) return dtype;
  }
  throw Error(ErrorCode::kInvalidArgument, std::string("\"") + name +
      "\" is not a dtype: expected fp32, bf16, fp16, i32, i64, u8, fp8_e4m3 or int8");
}

uint16_t floatToF16(float value) { return floatToHalf(value); }

float f16ToFloat(uint16_t bits) { return halfToFloat(bits); }

}  // namespace octavo
