#include "model/weight_layout.h"

#include <map>

#include "base/error.h"

namespace octavo {

namespace {

constexpr size_t kAlignment = 256;

/** The dtype of all parts, or fp32, the only one that holds the others exactly. */
DType fileDType(const WeightEntry& entry) {
  const DType first = entry.parts.front().dtype;
  for (const WeightPart& part : entry.parts) {
    if (part.dtype != first) return DType::kF32;
  }
  return first;
}

bool isQuantized(const WeightEntry& entry) {
  for (const WeightPart& part : entry.parts) {
    if (part.quantized) return true;
  }
  return false;
}

bool canMap(const WeightEntry& entry, DType stored) {
  const WeightPart& part = entry.parts.front();
  return entry.parts.size() == 1 && part.dtype == stored && part.offset % dtypeBytes(stored) == 0;
}

}  // namespace

std::vector<CodedShape> codedShapes(const WeightManifest& manifest) {
  std::vector<CodedShape> shapes;
  for (const WeightEntry& entry : manifest.entries) {
    if (!isQuantized(entry)) continue;
    CodedShape& shape = shapes.emplace_back();
    for (const WeightPart& part : entry.parts) {
      shape.rows += part.weightShape().front();
      if (!part.quantized) continue;
      shape.columns = part.quantized->columns;
      if (shape.scaling == ActivationScaling::kNone) shape.scaling = part.quantized->activations.scaling;
    }
  }
  return shapes;
}

WeightLayout WeightLayout::of(const ModelSpec& spec, const WeightManifest& manifest, DType dtype, bool keepFileDType,
                              bool mapFiles) {
  std::map<std::string, const WeightEntry*> entries;
  for (const WeightEntry& entry : manifest.entries) entries.emplace(entry.name, &entry);
  WeightLayout layout;
  for (ParameterSpec& parameter : parametersOf(spec)) {
    const auto found = entries.find(parameter.name);
    if (found == entries.end() || found->second->parts.empty()) {
      throw Error(ErrorCode::kCheckpointMismatch, "parameter " + parameter.name + ": is missing in the manifest");
    }
    if (isQuantized(*found->second)) {
      const std::optional<DType> dense = keepFileDType ? std::nullopt : std::optional(dtype);
      std::vector<PiecePlace> pieces = placePieces(*found->second, dense, layout.bytes);
      layout.parameters.push_back({std::move(parameter.name), std::move(parameter.shape), dtype, 0, false,
                                   found->second, std::move(pieces)});
      continue;
    }
    // Norms and biases are small: they keep what the file says, so that nothing is lost.
    const bool keep = keepFileDType || parameter.shape.size() == 1;
    const DType stored = keep ? fileDType(*found->second) : dtype;
    size_t bytes = dtypeBytes(stored);
    for (const int64_t extent : parameter.shape) bytes *= static_cast<size_t>(extent);
    const bool mapped = mapFiles && !manifest.dummySeed && canMap(*found->second, stored);
    layout.parameters.push_back(
        {std::move(parameter.name), std::move(parameter.shape), stored, layout.bytes, mapped, found->second, {}});
    if (mapped) layout.mappedBytes += bytes;
    else layout.bytes += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
  return layout;
}

}  // namespace octavo
