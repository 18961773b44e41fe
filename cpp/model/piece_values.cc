#include "model/piece_values.h"

#include <cmath>

#include "base/error.h"
#include "model/manifest_check.h"

namespace octavo {

namespace {

template <typename T>
std::vector<T> readAll(const StoredTensor& tensor, const CheckpointFiles& files) {
  std::vector<T> values(tensor.bytes / sizeof(T));
  files.read(tensor.file, tensor.offset, values.data(), values.size() * sizeof(T));
  return values;
}

[[noreturn]] void refuse(ErrorCode code, const std::string& parameter, const PiecePlace& piece,
                         const std::string& problem) {
  throw Error(code, "parameter " + parameter + ", rows from " + std::to_string(piece.firstRow) + " on: " + problem);
}

/** Groups in the order of the columns need no index: whether they are is the tensor's to say, not a flag's. */
bool isInOrder(const std::vector<int32_t>& groups, int32_t groupColumns) {
  for (size_t k = 0; k < groups.size(); ++k) {
    if (groups[k] != static_cast<int32_t>(k) / groupColumns) return false;
  }
  return true;
}

std::vector<int32_t> readGroups(const std::string& parameter, const PiecePlace& piece, const CheckpointFiles& files) {
  const QuantizedSource& source = *piece.part->quantized;
  std::vector<int32_t> groups = readAll<int32_t>(*source.groupIndex, files);
  for (size_t k = 0; k < groups.size(); ++k) {
    if (groups[k] >= 0 && groups[k] < source.groups()) continue;
    refuse(ErrorCode::kCheckpointInvalid, parameter, piece,
           "column " + std::to_string(k) + " is of group " + std::to_string(groups[k]) + ", there are " +
               std::to_string(source.groups()));
  }
  if (isInOrder(groups, source.groupColumns)) groups.clear();
  return groups;
}

float readScale(const std::string& parameter, const PiecePlace& piece, const CheckpointFiles& files) {
  const StoredTensor& tensor = *piece.part->quantized->inputScale;
  float scale = 0;
  if (tensor.dtype == DType::kF32) {
    scale = readAll<float>(tensor, files).front();
  } else {
    const uint16_t bits = readAll<uint16_t>(tensor, files).front();
    scale = tensor.dtype == DType::kBF16 ? bf16ToFloat(bits) : f16ToFloat(bits);
  }
  if (std::isnormal(scale) && scale > 0) return scale;
  refuse(ErrorCode::kCheckpointInvalid, parameter, piece,
         "its input scale is " + std::to_string(scale) + "; expected a positive number");
}

void checkStoredShape(const std::string& parameter, const PiecePlace& piece, const CheckpointFiles& files) {
  const QuantizedSource& source = *piece.part->quantized;
  const std::vector<int64_t> shape = readAll<int64_t>(*source.shape, files);
  if (shape == std::vector<int64_t>{source.rows, source.columns}) return;
  refuse(ErrorCode::kCheckpointMismatch, parameter, piece,
         "its stored shape is " + shapeText(shape) + ", the model needs " + shapeText({source.rows, source.columns}));
}

}  // namespace

PieceValues PieceValues::read(const std::string& parameter, const PiecePlace& piece, const CheckpointFiles& files) {
  PieceValues values;
  if (!piece.part->quantized) return values;
  const QuantizedSource& source = *piece.part->quantized;
  if (source.shape) checkStoredShape(parameter, piece, files);
  if (source.groupIndex) values.groupIndex = readGroups(parameter, piece, files);
  if (source.activations.scaling == ActivationScaling::kStatic) values.inputScale = readScale(parameter, piece, files);
  return values;
}

}  // namespace octavo
