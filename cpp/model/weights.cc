#include "model/weights.h"

#include <algorithm>

#include "base/error.h"
#include "model/dummy_weights.h"
#include "model/manifest_check.h"
#include "model/piece_views.h"
#include "model/weight_transfer.h"

namespace octavo {

namespace {

constexpr Owner kEngine{OwnerKind::kEngine, 0};

using ValueTable = std::map<std::string, std::vector<PieceValues>>;

/** Of every parameter with codes; small, and read before anything is taken. */
ValueTable readValues(const WeightLayout& layout, const CheckpointFiles& files) {
  ValueTable values;
  for (const ParameterPlace& place : layout.parameters) {
    for (const PiecePlace& piece : place.pieces) {
      values[place.name].push_back(PieceValues::read(place.name, piece, files));
    }
  }
  return values;
}

/** What files would say of parameters with codes: groups in order, and a scale of activations. */
ValueTable dummyValues(const WeightLayout& layout) {
  ValueTable values;
  for (const ParameterPlace& place : layout.parameters) {
    for (const PiecePlace& piece : place.pieces) {
      const bool isStatic =
          piece.part->quantized && piece.part->quantized->activations.scaling == ActivationScaling::kStatic;
      values[place.name].push_back({{}, isStatic ? kDummyInputScale : 0});
    }
  }
  return values;
}

void streamFiles(DeviceAllocator& allocator, const WeightLayout& layout, const CheckpointFiles& files, void* arena,
                 const StreamOptions& options, const std::function<void(LoadProgress)>& progress,
                 const std::atomic<bool>& cancelled) {
  const std::vector<WeightTransfer> transfers = transfersOf(layout);
  const size_t sliceBytes = RingShape::sliceBytes(bytesOf(transfers), options.ringLimit);
  const std::vector<WeightChunk> chunks = chunksOf(transfers, sliceBytes, arena);
  const RingShape ring = ringOf(transfers, allocator.device().sharesHostMemory(), options.ringLimit);
  WeightStream(allocator, files, chunks, ring, options).run(progress, cancelled);
}

/** Group indices that kernels need go to their places. */
void sendGroups(Device& device, const WeightLayout& layout, const ValueTable& values, void* arena) {
  const auto stream = device.createStream();
  for (const ParameterPlace& place : layout.parameters) {
    for (size_t index = 0; index < place.pieces.size(); ++index) {
      const std::vector<int32_t>& groups = values.at(place.name)[index].groupIndex;
      if (groups.empty()) continue;
      device.copy(static_cast<char*>(arena) + place.pieces[index].groupIndex, groups.data(),
                  groups.size() * sizeof(int32_t), CopyKind::kHostToDevice, *stream);
    }
  }
  stream->synchronize();
}

/** Of the largest matrix of codes; 0 where there is none. */
size_t arrangeBytes(const WeightLayout& layout) {
  size_t most = 0;
  for (const ParameterPlace& place : layout.parameters) {
    for (const PiecePlace& piece : place.pieces) {
      if (!piece.part->quantized) continue;
      most = std::max(most, LinearScratchLayout::arrangeBytes(piece.rows, piece.part->quantized->columns));
    }
  }
  return most;
}

}  // namespace

/** Codes to the order in which the device multiplies them, with memory that is given back before this returns. */
void Weights::arrange(DeviceAllocator& allocator, size_t scratchBytes) {
  if (scratchBytes == 0) return;
  const Allocation memory = allocator.allocate(Region::kWorkspace, scratchBytes, kEngine, "weights.arrange");
  const auto stream = allocator.device().createStream();
  for (auto& [name, weight] : coded_) {
    for (LinearPiece& piece : weight.pieces) {
      if (!piece.isQuantized()) continue;
      allocator.device().ops().arrange(piece.quantized, {memory.data(), memory.bytes()}, *stream);
    }
  }
  stream->synchronize();
}

Weights Weights::load(DeviceAllocator& allocator, const ModelSpec& spec, const WeightManifest& manifest, DType dtype,
                      bool keepFileDType, const std::function<void(LoadProgress)>& progress,
                      const std::atomic<bool>& cancelled, const StreamOptions& stream) {
  const CheckpointFiles files = manifest.openFiles();
  checkManifest(spec, manifest, files);  // again: the files may have changed since `validate`
  const WeightLayout layout = WeightLayout::of(spec, manifest, dtype, keepFileDType, stream.mapFiles);
  const ValueTable values = manifest.dummySeed ? dummyValues(layout) : readValues(layout, files);

  Weights weights;
  if (layout.bytes > 0) weights.arena_ = allocator.allocate(Region::kWeights, layout.bytes, kEngine, "weights");
  if (layout.mappedBytes > 0) weights.files_ = MappedFiles(manifest.files);
  const bool onHost = allocator.device().sharesHostMemory();
  for (const ParameterPlace& place : layout.parameters) {
    if (place.pieces.empty()) {
      weights.parameters_.emplace(place.name, Parameter{weights.addressOf(place), place.dtype, place.shape});
    } else {
      weights.coded_.emplace(place.name, viewOf(place.pieces, values.at(place.name), weights.arena_.data(), onHost));
    }
  }
  if (manifest.dummySeed) {
    fillDummyWeights(allocator.device(), layout, weights.arena_.data(), *manifest.dummySeed, progress, cancelled);
  } else {
    streamFiles(allocator, layout, files, weights.arena_.data(), stream, progress, cancelled);
  }
  weights.codedShapes_ = octavo::codedShapes(manifest);
  if (!weights.coded_.empty()) sendGroups(allocator.device(), layout, values, weights.arena_.data());
  if (!onHost) weights.arrange(allocator, arrangeBytes(layout));
  return weights;
}

void* Weights::addressOf(const ParameterPlace& place) const {
  if (!place.mapped) return static_cast<char*>(arena_.data()) + place.offset;
  const WeightPart& part = place.entry->parts.front();
  return const_cast<void*>(files_.at(part.file, part.offset, part.bytes));  // kernels only read weights
}

size_t Weights::plannedBytes(const ModelSpec& spec, const WeightManifest& manifest, DType dtype, bool keepFileDType,
                             bool mapFiles) {
  return DeviceAllocator::rounded(WeightLayout::of(spec, manifest, dtype, keepFileDType, mapFiles).bytes);
}

size_t Weights::mappedBytes(const ModelSpec& spec, const WeightManifest& manifest, DType dtype, bool keepFileDType) {
  return WeightLayout::of(spec, manifest, dtype, keepFileDType, true).mappedBytes;
}

StreamBytes Weights::streamBytes(const ModelSpec& spec, const WeightManifest& manifest, DType dtype,
                                 bool keepFileDType, bool sharesHostMemory, size_t ringLimit,
                                 bool mapFiles) {
  const WeightLayout layout = WeightLayout::of(spec, manifest, dtype, keepFileDType, mapFiles);
  const size_t arranging = sharesHostMemory ? 0 : DeviceAllocator::rounded(arrangeBytes(layout));
  if (manifest.dummySeed) return {0, arranging};
  const RingShape ring = ringOf(transfersOf(layout), sharesHostMemory, ringLimit);
  return {ring.bytes(), std::max(ring.converts ? ring.slice : 0, arranging)};
}

Matrix Weights::matrix(const std::string& name) const {
  const auto found = parameters_.find(name);
  if (found == parameters_.end() || found->second.shape.size() != 2) {
    throw Error(ErrorCode::kInternal, "weights: no matrix " + name);
  }
  const Parameter& parameter = found->second;
  return {parameter.data, parameter.dtype, parameter.shape[0],
          parameter.shape[1], parameter.shape[1]};
}

LinearWeight Weights::linear(const std::string& name) const {
  const auto found = coded_.find(name);
  return found == coded_.end() ? LinearWeight::of(matrix(name)) : found->second;
}

Vector Weights::vector(const std::string& name) const {
  const auto found = parameters_.find(name);
  if (found == parameters_.end()) return {};
  const Parameter& parameter = found->second;
  if (parameter.shape.size() != 1) throw Error(ErrorCode::kInternal, "weights: " + name + " is no vector");
  return {parameter.data, parameter.dtype, parameter.shape[0]};
}

}  // namespace octavo
