#include <map>

#include "base/error.h"
#include "model/manifest_check.h"
#include "model/quantized_check.h"

namespace octavo {

namespace {

[[noreturn]] void refuse(ErrorCode code, const std::string& name, const std::string& problem) {
  throw Error(code, "parameter " + name + ": " + problem);
}

/** Where a part lies, for messages. */
std::string place(const WeightPart& part, size_t index, const CheckpointFiles& files) {
  return "part " + std::to_string(index) + " (" + files.path(part.file) + ", offset " +
         std::to_string(part.offset) + ")";
}

void checkFileIndex(const WeightEntry& entry, const CheckpointFiles& files) {
  for (const WeightPart& part : entry.parts) {
    if (part.file >= 0 && static_cast<size_t>(part.file) < files.count()) continue;
    refuse(ErrorCode::kCheckpointInvalid, entry.name, "lies in file " + std::to_string(part.file) +
                                                          ", but the manifest lists " +
                                                          std::to_string(files.count()) + " files");
  }
}

/** The parts, one below the other, must make the shape. */
void checkShape(const WeightEntry& entry, const std::vector<int64_t>& expected, const CheckpointFiles& files) {
  if (entry.parts.empty()) {
    refuse(ErrorCode::kCheckpointMismatch, entry.name,
           "lists no tensor of the checkpoint; the model needs " + shapeText(expected));
  }
  int64_t rows = 0;
  for (size_t index = 0; index < entry.parts.size(); ++index) {
    const std::vector<int64_t> shape = entry.parts[index].weightShape();
    bool fits = shape.size() == expected.size() && shape[0] >= 1 && shape[0] <= expected[0] - rows;
    for (size_t axis = 1; fits && axis < expected.size(); ++axis) fits = shape[axis] == expected[axis];
    if (!fits) {
      refuse(ErrorCode::kCheckpointMismatch, entry.name,
             place(entry.parts[index], index, files) + " is " + shapeText(shape) + ", which does not fit below " +
                 std::to_string(rows) + " rows into " + shapeText(expected));
    }
    rows += shape[0];
  }
  if (rows == expected[0]) return;
  refuse(ErrorCode::kCheckpointMismatch, entry.name,
         "its parts make " + std::to_string(rows) + " rows; the model needs " + shapeText(expected));
}

/** Shapes were checked: products are bounded by the spec's. */
void checkBytes(const WeightEntry& entry, const CheckpointFiles& files) {
  for (size_t index = 0; index < entry.parts.size(); ++index) {
    const WeightPart& part = entry.parts[index];
    if (part.quantized) {
      checkQuantized(entry.name, part, files);
      continue;
    }
    if (!isFloat(part.dtype)) {
      refuse(ErrorCode::kUnsupportedModel, entry.name,
             place(part, index, files) + " is " + dtypeName(part.dtype) + "; only fp32, bf16 and fp16 can be run");
    }
    checkRange(entry.name, ("part " + std::to_string(index)).c_str(), part, files);
  }
}

}  // namespace

std::string shapeText(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (size_t axis = 0; axis < shape.size(); ++axis) text += (axis ? ", " : "") + std::to_string(shape[axis]);
  return text + "]";
}

void checkManifest(const ModelSpec& spec, const WeightManifest& manifest, const CheckpointFiles& files) {
  std::map<std::string, const WeightEntry*> entries;
  for (const WeightEntry& entry : manifest.entries) {
    if (!entries.emplace(entry.name, &entry).second) {
      refuse(ErrorCode::kCheckpointMismatch, entry.name, "is in the manifest twice");
    }
  }
  for (const ParameterSpec& parameter : parametersOf(spec)) {
    const auto found = entries.find(parameter.name);
    if (found == entries.end()) {
      refuse(ErrorCode::kCheckpointMismatch, parameter.name,
             "is missing; the model (" + spec.family + ") needs " + shapeText(parameter.shape));
    }
    checkFileIndex(*found->second, files);
    checkShape(*found->second, parameter.shape, files);
    checkBytes(*found->second, files);
    entries.erase(found);
  }
  if (entries.empty()) return;
  refuse(ErrorCode::kCheckpointMismatch, entries.begin()->first,
         "is not of this model (" + spec.family + ", " + std::to_string(spec.layers.size()) + " layers); " +
             std::to_string(entries.size()) + " entries of the manifest are unknown");
}

CheckpointFiles WeightManifest::openFiles() const {
  return dummySeed ? CheckpointFiles::absent() : CheckpointFiles(files);
}

void WeightManifest::validate(const ModelSpec& spec) const { checkManifest(spec, *this, openFiles()); }

}  // namespace octavo
