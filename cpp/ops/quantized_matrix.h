// A weight as codes and scales: what every quantised checkpoint is brought into, once, at load.
#pragma once

#include "ops/tensor.h"

namespace octavo {

/** What the codes of a weight are: unsigned integers of 2, 3, 4 or 8 bits, int8, or e4m3 numbers. */
enum class CodeType : uint8_t { kU2, kU3, kU4, kU8, kI8, kE4M3 };

constexpr int codeBits(CodeType type) {
  switch (type) {
    case CodeType::kU2: return 2;
    case CodeType::kU3: return 3;
    case CodeType::kU4: return 4;
    default: return 8;
  }
}

/** What a code stands for when no zero is stored: unsigned codes are centred. */
constexpr int middleCode(CodeType type) { return type <= CodeType::kU8 ? 1 << (codeBits(type) - 1) : 0; }

/** `u2`, `u3`, `u4`, `u8`, `i8`, `e4m3`. */
const char* codeTypeName(CodeType type);
/** The type of that name; throws kInvalidArgument for any other. */
CodeType parseCodeType(const char* name);

/** How activations are scaled before they become codes of the weight's own type (int8 or e4m3); kNone: they do not. */
enum class ActivationScaling : uint8_t { kNone, kStatic, kToken, kGroup };

/** `none`, `static`, `token`, `group`. */
const char* activationScalingName(ActivationScaling scaling);
/** The scaling of that name; throws kInvalidArgument for any other. */
ActivationScaling parseActivationScaling(const char* name);

/**
 * What a product makes of a row of x first: c · s with c = round(x / s), clamped to the largest code (127 or 448). s is
 * `inputScale` (kStatic), the largest magnitude of the row (kToken) or of every `group` columns (kGroup, which takes
 * magnitudes below 1e-4 for that) over the largest code.
 */
struct ActivationQuantization {
  ActivationScaling scaling = ActivationScaling::kNone;
  int32_t group = 0;
  float inputScale = 0;
};

/**
 * How codes, scales and zeros lie. kRows is the layout of the definition, below; kTiles is that of a device's own
 * kernels, into which Ops::arrange brings a weight in place: 64 rows take the bytes that they took before. There the
 * columns of an act-order weight stand by their groups, groupColumns each, and groupIndex[k] is the place of column k.
 */
enum class CodeOrder : uint8_t { kRows, kTiles };

/**
 * weight[n, k] = (code[n, k] − zero[n / groupRows, g]) · scale[n / groupRows, g], in fp32 and rounded once, where g is
 * k / groupColumns or groupIndex[k].
 *
 * A row of codes is a little-endian stream of bits, code k in bits k·b … k·b + b − 1, whatever follows the last.
 * Scales are [⌈rows / groupRows⌉, groups], zeros alike. Where tiles are possible, memory reaches to whole ones: see
 * `paddedRows` and `strideOf`.
 */
struct QuantizedMatrix {
  static constexpr int64_t kRowAlignment = 16;  // of codeStride and of `codes`, in bytes
  static constexpr int64_t kTileRows = 64, kTileColumns = 64;

  const void* codes = nullptr;
  CodeType codeType = CodeType::kU4;
  int64_t rows = 0, columns = 0;
  int64_t codeStride = 0;               // bytes from row to row
  const void* scales = nullptr;
  DType scaleType = DType::kF32;
  int64_t groups = 0;                   // of a row
  int32_t groupRows = 1, groupColumns = 0;
  const uint8_t* zeros = nullptr;       // absent: middleCode
  const int32_t* groupIndex = nullptr;  // [columns], each below `groups`; absent: k / groupColumns
  ActivationQuantization activations;
  CodeOrder order = CodeOrder::kRows;
  bool hasWholeTiles = true;            // there is memory for paddedRows, and the rows after `rows` are nobody's

  /** Bytes from row to row of so many codes, aligned; unsigned codes, to whole tiles. */
  static int64_t strideOf(CodeType type, int64_t columns);
  /** Rows of codes, scales and zeros for which there is memory. */
  static int64_t paddedRows(CodeType type, int64_t rows);

  /** Unsigned codes, 16-bit scales, one group a row or groups of 32, 64, 128, … columns. */
  bool canBeTiles() const;
};

}  // namespace octavo
