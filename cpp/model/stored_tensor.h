// Tensors as checkpoint files hold them.
#pragma once

#include <optional>
#include <vector>

#include "base/dtype.h"
#include "ops/quantized_matrix.h"

namespace octavo {

/** A range of a file. */
struct StoredTensor {
  int32_t file = 0;              // index in WeightManifest::files
  uint64_t offset = 0;           // from the start of the file
  uint64_t bytes = 0;
  DType dtype = DType::kF32;     // codes of a byte are kU8, words of codes kI32
  std::vector<int64_t> shape;
};

/** How a checkpoint arranges codes; the names are those of RepackKind's sources. */
enum class StoredLayout : uint8_t {
  kGptq,  // words [K · bits / 32, N], scales [G, N], zeros words [G, N · bits / 32]
  kAwq,   // words [K, N / 8], scales [G, N], zeros words [G, N / 8]
  kRows,  // [N, ⌈K · bits / 32⌉] words or [N, K] bytes; scales [⌈N / groupRows⌉, G] or one; zeros [⌈N · bits / 32⌉, G]
};

/** `gptq`, `awq`, `rows`. */
const char* storedLayoutName(StoredLayout layout);

/** What stands beside the codes of a quantised part, and what all of it means. */
struct QuantizedSource {
  StoredLayout layout = StoredLayout::kRows;
  CodeType codeType = CodeType::kU4;
  int64_t rows = 0, columns = 0;            // of the weight: N, K
  int32_t groupRows = 1, groupColumns = 0;  // that share a scale
  int32_t zeroOffset = 0;                   // what is added to a stored zero
  ActivationQuantization activations;       // a static scale is in `inputScale`
  StoredTensor scales;
  std::optional<StoredTensor> zeros, groupIndex, inputScale, shape;

  int64_t groups() const { return (columns + groupColumns - 1) / groupColumns; }
  int64_t scaleRows() const { return (rows + groupRows - 1) / groupRows; }
  /** One scale for everything: kept once a row, so that weights side by side can become one. */
  bool isRepeated() const { return layout == StoredLayout::kRows && rows <= groupRows && groups() == 1; }
};

/** Rows of a parameter: a tensor of floats, or codes with what belongs to them. */
struct WeightPart : StoredTensor {
  std::optional<QuantizedSource> quantized;

  /** Of the numbers, whatever they are stored as. */
  std::vector<int64_t> weightShape() const {
    return quantized ? std::vector<int64_t>{quantized->rows, quantized->columns} : shape;
  }
};

}  // namespace octavo
