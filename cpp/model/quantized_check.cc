#include "model/quantized_check.h"

#include "base/error.h"
#include "model/manifest_check.h"

namespace octavo {

namespace {

constexpr int64_t kMostGroupRows = int64_t{1} << 30;

int64_t ceilDivide(int64_t value, int64_t divisor) { return (value + divisor - 1) / divisor; }

/** One part under examination. */
class PartCheck {
 public:
  PartCheck(const std::string& parameter, const WeightPart& part, const CheckpointFiles& files)
      : parameter_(parameter),
        part_(part),
        source_(*part.quantized),
        files_(files),
        bits_(codeBits(source_.codeType)) {}

  void run() const {
    checkSizes();
    checkWords();
    tensor("codes", part_, codesShape(), isBytes() ? DType::kU8 : DType::kI32);
    if (!isFloat(source_.scales.dtype)) {
      refuse(ErrorCode::kUnsupportedModel, std::string("its scales are ") + dtypeName(source_.scales.dtype) +
                                               "; expected fp32, bf16 or fp16");
    }
    tensor("scales", source_.scales, scalesShape(), source_.scales.dtype);
    if (source_.zeros) tensor("zeros", *source_.zeros, zerosShape(), DType::kI32);
    if (source_.groupIndex) tensor("group index", *source_.groupIndex, {source_.columns}, DType::kI32);
    if (source_.shape) tensor("shape", *source_.shape, {2}, DType::kI64);
    checkActivations();
  }

 private:
  [[noreturn]] void refuse(ErrorCode code, const std::string& problem) const {
    throw Error(code, "parameter " + parameter_ + ": " + problem);
  }

  bool isBytes() const { return source_.codeType == CodeType::kI8 || source_.codeType == CodeType::kE4M3; }

  void checkSizes() const {
    const bool fits = source_.groupRows >= 1 && source_.groupRows <= kMostGroupRows && source_.groupColumns >= 1 &&
                      source_.zeroOffset >= 0 && source_.zeroOffset <= 1;
    if (fits) return;
    refuse(ErrorCode::kCheckpointInvalid, "its groups are of " + std::to_string(source_.groupRows) + " by " +
                                              std::to_string(source_.groupColumns) + " weights; expected 1 or more");
  }

  /** Packed dimensions must be whole words. */
  void checkWords() const {
    const StoredLayout layout = source_.layout;
    if (layout == StoredLayout::kRows) return;
    const bool unsignedCodes = !isBytes() && source_.groupRows == 1;
    const bool whole = layout == StoredLayout::kAwq
                           ? source_.codeType == CodeType::kU4 && source_.rows % 8 == 0 && source_.columns % 8 == 0
                           : source_.rows * bits_ % 32 == 0 && source_.columns * bits_ % 32 == 0;
    if (unsignedCodes && whole) return;
    refuse(ErrorCode::kUnsupportedModel,
           shapeText({source_.rows, source_.columns}) + " " + codeTypeName(source_.codeType) + " codes in groups of " +
               std::to_string(source_.groupRows) + " rows do not fill the words of " + storedLayoutName(layout));
  }

  std::vector<int64_t> codesShape() const {
    const int64_t rows = source_.rows, columns = source_.columns;
    if (isBytes()) return {rows, columns};
    if (source_.layout == StoredLayout::kGptq) return {columns * bits_ / 32, rows};
    if (source_.layout == StoredLayout::kAwq) return {columns, rows / 8};
    return {rows, ceilDivide(columns * bits_, 32)};
  }

  std::vector<int64_t> scalesShape() const {
    const int64_t groups = source_.groups();
    if (source_.layout != StoredLayout::kRows) return {groups, source_.rows};
    if (!source_.isRepeated()) return {source_.scaleRows(), groups};
    const std::vector<int64_t>& shape = source_.scales.shape;  // [] or [1], or [1, 1]: as it says
    for (const int64_t extent : shape) {
      if (extent != 1) return {1};
    }
    return shape;
  }

  std::vector<int64_t> zerosShape() const {
    const int64_t words = ceilDivide(source_.scaleRows() * bits_, 32);
    if (source_.layout != StoredLayout::kRows) return {source_.groups(), words};
    if (32 % bits_ != 0 || isBytes()) {
      refuse(ErrorCode::kUnsupportedModel, std::string(codeTypeName(source_.codeType)) + " codes with packed zeros");
    }
    return {words, source_.groups()};
  }

  void checkActivations() const {
    const ActivationQuantization& activations = source_.activations;
    if (activations.scaling == ActivationScaling::kNone) return;
    if (!isBytes()) {
      refuse(ErrorCode::kUnsupportedModel,
             std::string("activations cannot become ") + codeTypeName(source_.codeType) + " codes");
    }
    if (activations.scaling == ActivationScaling::kGroup && activations.group < 1) {
      refuse(ErrorCode::kCheckpointInvalid, "activations in groups of " + std::to_string(activations.group));
    }
    if (activations.scaling != ActivationScaling::kStatic) return;
    if (!source_.inputScale) refuse(ErrorCode::kCheckpointMismatch, "its static input scale is missing");
    const StoredTensor& scale = *source_.inputScale;
    if (!isFloat(scale.dtype)) {
      refuse(ErrorCode::kUnsupportedModel, std::string("its input scale is ") + dtypeName(scale.dtype));
    }
    tensor("input scale", scale, scale.shape.empty() ? scale.shape : std::vector<int64_t>{1}, scale.dtype);
  }

  void tensor(const char* what, const StoredTensor& stored, const std::vector<int64_t>& shape, DType dtype) const {
    if (stored.shape != shape || stored.dtype != dtype) {
      refuse(ErrorCode::kCheckpointMismatch,
             std::string("its ") + what + " are " + shapeText(stored.shape) + " " + dtypeName(stored.dtype) +
                 ", a weight of " + shapeText({source_.rows, source_.columns}) + " " + codeTypeName(source_.codeType) +
                 " needs " + shapeText(shape) + " " + dtypeName(dtype));
    }
    checkRange(parameter_, what, stored, files_);
  }

  const std::string& parameter_;
  const WeightPart& part_;
  const QuantizedSource& source_;
  const CheckpointFiles& files_;
  const int64_t bits_;
};

}  // namespace

const char* storedLayoutName(StoredLayout layout) {
  switch (layout) {
    case StoredLayout::kGptq: return "gptq";
    case StoredLayout::kAwq: return "awq";
    case StoredLayout::kRows: return "rows";
  }
  return "unknown";
}

void checkRange(const std::string& parameter, const char* what, const StoredTensor& tensor,
                const CheckpointFiles& files) {
  const auto refuse = [&](const std::string& problem) {
    throw Error(ErrorCode::kCheckpointInvalid, "parameter " + parameter + ": " + what + " " + problem);
  };
  if (tensor.file < 0 || static_cast<size_t>(tensor.file) >= files.count()) {
    refuse("lies in file " + std::to_string(tensor.file) + ", but the manifest lists " +
           std::to_string(files.count()) + " files");
  }
  uint64_t bytes = dtypeBytes(tensor.dtype);
  for (const int64_t extent : tensor.shape) bytes *= static_cast<uint64_t>(extent);
  const std::string place = "(" + files.path(tensor.file) + ", offset " + std::to_string(tensor.offset) + ")";
  if (bytes != tensor.bytes) {
    refuse(place + " is " + shapeText(tensor.shape) + " " + dtypeName(tensor.dtype) + ", which takes " +
           std::to_string(bytes) + " bytes, but the file gives it " + std::to_string(tensor.bytes));
  }
  const uint64_t size = files.bytes(tensor.file);
  if (tensor.offset <= size && tensor.bytes <= size - tensor.offset) return;
  refuse(place + " takes " + std::to_string(tensor.bytes) + " bytes, but the file ends at " + std::to_string(size) +
         "; it is truncated: copy it again");
}

void checkQuantized(const std::string& parameter, const WeightPart& part, const CheckpointFiles& files) {
  PartCheck(parameter, part, files).run();
}

}  // namespace octavo
