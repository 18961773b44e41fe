#include "model/weights.h"

#include <algorithm>
#include <tuple>

#include "base/error.h"
#include "model/manifest_check.h"
#include "model/weight_layout.h"
#include "model/weight_stream.h"

namespace octavo {

namespace {

constexpr Owner kEngine{OwnerKind::kEngine, 0};

/** A part in slices; returns where the next part of the parameter begins. */
char* appendChunks(const WeightPart& part, size_t sliceBytes, char* target, DType targetType,
                   std::vector<WeightChunk>& chunks) {
  for (uint64_t done = 0; done < part.bytes; done += sliceBytes) {
    const auto bytes = static_cast<size_t>(std::min<uint64_t>(part.bytes - done, sliceBytes));
    chunks.push_back({part.file, part.offset + done, bytes, part.dtype, target, targetType});
    target += bytes / dtypeBytes(part.dtype) * dtypeBytes(targetType);
  }
  return target;
}

uint64_t fileBytes(const WeightLayout& layout) {
  uint64_t bytes = 0;
  for (const ParameterPlace& place : layout.parameters) {
    if (place.mapped) continue;
    for (const WeightPart& part : place.entry->parts) bytes += part.bytes;
  }
  return bytes;
}

/** All chunks, in the order of the files, so that disks read forward. */
std::vector<WeightChunk> chunksOf(const WeightLayout& layout, size_t sliceBytes, void* arena) {
  std::vector<WeightChunk> chunks;
  for (const ParameterPlace& place : layout.parameters) {
    if (place.mapped) continue;
    char* target = static_cast<char*>(arena) + place.offset;
    for (const WeightPart& part : place.entry->parts) {
      target = appendChunks(part, sliceBytes, target, place.dtype, chunks);
    }
  }
  std::sort(chunks.begin(), chunks.end(), [](const WeightChunk& left, const WeightChunk& right) {
    return std::tie(left.file, left.offset, left.target) < std::tie(right.file, right.offset, right.target);
  });
  return chunks;
}

/** The shape of the ring, without a chunk being made. */
RingShape ringOf(const WeightLayout& layout, bool sharesHostMemory, size_t ringLimit) {
  const size_t sliceBytes = RingShape::sliceBytes(fileBytes(layout), ringLimit);
  size_t largest = 0;
  bool converts = false;
  for (const ParameterPlace& place : layout.parameters) {
    if (place.mapped) continue;
    for (const WeightPart& part : place.entry->parts) {
      if (sharesHostMemory && part.dtype == place.dtype) continue;
      largest = std::max(largest, static_cast<size_t>(std::min<uint64_t>(part.bytes, sliceBytes)));
      converts |= part.dtype != place.dtype;
    }
  }
  return RingShape::of(largest, converts, ringLimit);
}

}  // namespace

Weights Weights::load(DeviceAllocator& allocator, const ModelSpec& spec, const WeightManifest& manifest, DType dtype,
                      bool keepFileDType, const std::function<void(LoadProgress)>& progress,
                      const std::atomic<bool>& cancelled, const StreamOptions& stream) {
  const CheckpointFiles files(manifest.files);
  checkManifest(spec, manifest, files);  // again: the files may have changed since `validate`
  const WeightLayout layout = WeightLayout::of(spec, manifest, dtype, keepFileDType, stream.mapFiles);

  Weights weights;
  if (layout.bytes > 0) weights.arena_ = allocator.allocate(Region::kWeights, layout.bytes, kEngine, "weights");
  if (layout.mappedBytes > 0) weights.files_ = MappedFiles(manifest.files);
  for (const ParameterPlace& place : layout.parameters) {
    weights.parameters_.emplace(place.name, Parameter{weights.addressOf(place), place.dtype, place.shape});
  }
  const size_t sliceBytes = RingShape::sliceBytes(fileBytes(layout), stream.ringLimit);
  const std::vector<WeightChunk> chunks = chunksOf(layout, sliceBytes, weights.arena_.data());
  const RingShape ring = ringOf(layout, allocator.device().sharesHostMemory(), stream.ringLimit);
  WeightStream(allocator, files, chunks, ring, stream).run(progress, cancelled);
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
  const RingShape ring = ringOf(layout, sharesHostMemory, ringLimit);
  return {ring.bytes(), ring.converts ? ring.slice : 0};
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

Vector Weights::vector(const std::string& name) const {
  const auto found = parameters_.find(name);
  if (found == parameters_.end()) return {};
  const Parameter& parameter = found->second;
  if (parameter.shape.size() != 1) throw Error(ErrorCode::kInternal, "weights: " + name + " is no vector");
  return {parameter.data, parameter.dtype, parameter.shape[0]};
}

}  // namespace octavo
