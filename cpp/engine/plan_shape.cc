#include "engine/plan_shape.h"

#include <algorithm>

#include "base/error.h"

namespace octavo {

namespace {

constexpr size_t kMiB = size_t{1} << 20;
constexpr int32_t kScoreRows = 256;            // logits of a scoring step: more rows cost memory, fewer cost steps
// A cancel waits for the step in flight: a CPU takes seconds for these tokens of a model of billions, minutes for more.
constexpr int32_t kCpuBatchTokens = 256;
constexpr int32_t kCudaBatchTokens = 8192;
// Where the caller does not say: whether a step is planned while one runs, and whether decodes are replayed.
constexpr bool kCpuOverlap = false, kCpuGraphs = false;
constexpr bool kCudaOverlap = true, kCudaGraphs = true;
constexpr size_t kStagingBytes = 16 * kMiB;

void requireOption(const char* name, int64_t value, int64_t low, int64_t high) {
  if (value >= low && value <= high) return;
  throw Error(ErrorCode::kInvalidArgument, std::string(name) + " is " + std::to_string(value) + "; give " +
                                               std::to_string(low) + " to " + std::to_string(high));
}

void requireFloat(const char* name, const std::optional<DType>& dtype) {
  if (!dtype || isFloat(*dtype)) return;
  throw Error(ErrorCode::kInvalidArgument,
              std::string(name) + " is " + dtypeName(*dtype) + "; give fp32, bf16 or fp16");
}

void validateOptions(const EngineOptions& options) {
  requireOption("maxSequences", options.maxSequences, 1, 65536);
  if (options.maxBatchTokens) requireOption("maxBatchTokens", *options.maxBatchTokens, 1, 1 << 20);
  if (options.blockSize != 16 && options.blockSize != 32 && options.blockSize != 64) {
    throw Error(ErrorCode::kInvalidArgument,
                "blockSize is " + std::to_string(options.blockSize) + "; give 16, 32 or 64");
  }
  if (options.memoryLimit == 0) {
    throw Error(ErrorCode::kInvalidArgument, "memory.limit is 0 bytes; say how much the device may hold for us");
  }
  requireFloat("dtype", options.dtype);
  if (options.kvDType && !isCode(*options.kvDType)) requireFloat("kvDType", options.kvDType);
}

/** The dtype most bytes of the checkpoint's matrices have. */
DType matrixDType(const WeightManifest& manifest) {
  uint64_t bytes[3] = {};
  for (const WeightEntry& entry : manifest.entries) {
    for (const WeightPart& part : entry.parts) {
      if (!part.quantized && part.shape.size() >= 2 && isFloat(part.dtype)) bytes[static_cast<size_t>(part.dtype)] += part.bytes;
    }
  }
  return static_cast<DType>(std::max_element(bytes, bytes + 3) - bytes);
}

BatchLimits batchLimits(bool onHost, const ModelSpec& spec, const EngineOptions& options) {
  BatchLimits limits;
  const int32_t tokens = options.maxBatchTokens.value_or(onHost ? kCpuBatchTokens : kCudaBatchTokens);
  limits.maxSequences = std::min(options.maxSequences, tokens);
  const int64_t most = static_cast<int64_t>(limits.maxSequences) * spec.contextLength;
  limits.maxTokens = static_cast<int32_t>(std::min<int64_t>(tokens, most));
  limits.maxBlocksPerSequence = (spec.contextLength + options.blockSize - 1) / options.blockSize;
  limits.stepsAtOnce = options.overlap.value_or(onHost ? kCpuOverlap : kCudaOverlap) ? 2 : 1;
  limits.graphs = options.graphs.value_or(onHost ? kCpuGraphs : kCudaGraphs);
  limits.maxLogitRows = std::max(limits.maxSequences, std::min(limits.maxTokens, kScoreRows));
  return limits;
}

KvCacheShape kvShapeOf(const ModelSpec& spec, DType dtype, int32_t blockSize) {
  const AttentionSpec& first = spec.layers.front().attention;
  for (size_t index = 1; index < spec.layers.size(); ++index) {
    const AttentionSpec& attention = spec.layers[index].attention;
    if (attention.kvHeads == first.kvHeads && attention.headDim == first.headDim) continue;
    throw Error(ErrorCode::kUnsupportedModel,
                "layer " + std::to_string(index) + " has " + std::to_string(attention.kvHeads) + " KV heads of " +
                    std::to_string(attention.headDim) + ", layer 0 has " + std::to_string(first.kvHeads) + " of " +
                    std::to_string(first.headDim) + "; one KV cache needs them alike");
  }
  return {dtype, static_cast<int32_t>(spec.layers.size()), first.kvHeads, blockSize, first.headDim};
}

}  // namespace

PlanShape PlanShape::of(bool onHost, const ModelSpec& spec, const WeightManifest& manifest,
                        const EngineOptions& options) {
  validateOptions(options);
  PlanShape shape;
  shape.keepFileDType = onHost && !options.dtype;
  shape.dtype = options.dtype ? *options.dtype : onHost ? DType::kF32 : matrixDType(manifest);
  shape.batch = batchLimits(onHost, spec, options);
  shape.kvShape = kvShapeOf(spec, options.kvDType.value_or(shape.dtype), options.blockSize);
  const size_t rowBytes = static_cast<size_t>(spec.vocabularySize) * sizeof(float);
  shape.stagingBytes = std::max(rowBytes, std::min(kStagingBytes, rowBytes * shape.batch.maxLogitRows));
  return shape;
}

}  // namespace octavo
