#include "engine/memory_plan.h"

#include <algorithm>
#include <limits>

#include "engine/step_sampler.h"
#include "memory/format_bytes.h"
#include "model/decoder.h"

namespace octavo {

namespace {

constexpr size_t kMiB = size_t{1} << 20;
constexpr size_t kGiB = size_t{1} << 30;
constexpr int32_t kScoreRows = 256;            // logits of a scoring step: more rows cost memory, fewer cost steps
// A cancel waits for the step in flight: a CPU takes seconds for these tokens of a model of billions, minutes for more.
constexpr int32_t kCpuBatchTokens = 256;
constexpr int32_t kCudaBatchTokens = 8192;
constexpr size_t kStagingBytes = 16 * kMiB;
constexpr int32_t kLeastTokens = 2048;         // an automatic KV size below one such sequence is no use
constexpr size_t kLargestHostKv = kGiB;        // host memory is shared with everything else
constexpr size_t kRounding = 4096;             // what rounding of the KV and sampling items can add

bool isCpu(Device& device) { return device.info().id == "cpu"; }

void requireOption(const char* name, int64_t value, int64_t low, int64_t high) {
  if (value >= low && value <= high) return;
  throw Error(ErrorCode::kInvalidArgument, std::string(name) + " is " + std::to_string(value) + "; give " +
                                               std::to_string(low) + " to " + std::to_string(high));
}

void validateOptions(const EngineOptions& options) {
  requireOption("maxSequences", options.maxSequences, 1, 65536);
  if (options.maxBatchTokens) requireOption("maxBatchTokens", *options.maxBatchTokens, 1, 1 << 20);
  if (options.blockSize != 16 && options.blockSize != 32 && options.blockSize != 64) {
    throw Error(ErrorCode::kInvalidArgument,
                "blockSize is " + std::to_string(options.blockSize) + "; give 16, 32 or 64");
  }
  if (options.memoryLimit == 0) {
    throw Error(ErrorCode::kInvalidArgument, "memoryLimit is 0 bytes; say how much the device may hold for us");
  }
  if (options.dtype && !isFloat(*options.dtype)) {
    throw Error(ErrorCode::kInvalidArgument,
                std::string("dtype is ") + dtypeName(*options.dtype) + "; give fp32, bf16 or fp16");
  }
  if (options.kvDType && !isFloat(*options.kvDType)) {
    throw Error(ErrorCode::kInvalidArgument,
                std::string("kvDType is ") + dtypeName(*options.kvDType) + "; give fp32, bf16 or fp16");
  }
}

/** The dtype most bytes of the checkpoint's matrices have. */
DType matrixDType(const WeightManifest& manifest) {
  uint64_t bytes[3] = {};
  for (const WeightEntry& entry : manifest.entries) {
    for (const WeightPart& part : entry.parts) {
      if (part.shape.size() >= 2 && isFloat(part.dtype)) bytes[static_cast<size_t>(part.dtype)] += part.bytes;
    }
  }
  return static_cast<DType>(std::max_element(bytes, bytes + 3) - bytes);
}

BatchLimits batchLimits(Device& device, const ModelSpec& spec, const EngineOptions& options) {
  BatchLimits limits;
  const int32_t tokens = options.maxBatchTokens.value_or(isCpu(device) ? kCpuBatchTokens : kCudaBatchTokens);
  limits.maxSequences = std::min(options.maxSequences, tokens);
  const int64_t most = static_cast<int64_t>(limits.maxSequences) * spec.contextLength;
  limits.maxTokens = static_cast<int32_t>(std::min<int64_t>(tokens, most));
  limits.maxBlocksPerSequence = (spec.contextLength + options.blockSize - 1) / options.blockSize;
  limits.maxLogitRows = std::max(limits.maxSequences, std::min(limits.maxTokens, kScoreRows));
  return limits;
}

KvCacheShape kvShape(const ModelSpec& spec, DType dtype, int32_t blockSize) {
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

/** Distinct tokens that running requests can have seen: bounded by their blocks and by the vocabulary. */
int64_t historyEntries(const ModelSpec& spec, const MemoryPlan& plan) {
  const int64_t each = std::min(spec.contextLength, spec.vocabularySize);
  const int64_t held = plan.kvBlocks * plan.kvShape.blockSize + plan.batch.maxSequences;
  return std::max<int64_t>(1, std::min(each * plan.batch.maxSequences, held));
}

std::string list(const std::vector<PlanItem>& items) {
  std::string text;
  for (const PlanItem& item : items) {
    if (!text.empty()) text += ", ";
    text += item.name + " " + std::to_string(item.bytes) + " bytes (" + formatBytes(item.bytes) + ")";
  }
  return text;
}

/** Bytes within which everything must fit, and how that came about. */
struct Room {
  size_t bytes = 0;
  std::string origin;
};

Room roomOf(Device& device, size_t limit, size_t contextBytes, size_t freeBytes) {
  const size_t underLimit = limit > contextBytes ? limit - contextBytes : 0;
  if (underLimit <= freeBytes) {
    return {underLimit, "memory.limit leaves " + std::to_string(underLimit) + " bytes (" + std::to_string(limit) +
                            " less " + std::to_string(contextBytes) + " of the context)"};
  }
  return {freeBytes, device.info().id + " has " + std::to_string(freeBytes) + " bytes free (memory.limit is " +
                         std::to_string(limit) + ")"};
}

size_t total(const std::vector<PlanItem>& items) {
  size_t bytes = 0;
  for (const PlanItem& item : items) bytes += item.bytes;
  return bytes;
}

void requireFit(const MemoryPlan& plan, const Room& room) {
  const size_t needed = total(plan.items);
  if (needed <= room.bytes) return;
  throw Error(ErrorCode::kOutOfMemory,
              "the plan does not fit by " + std::to_string(needed - room.bytes) + " bytes: it needs " +
                  std::to_string(needed) + " bytes (" + list(plan.items) + "); " + room.origin +
                  ". Raise memory.limit, or load with a smaller memory.kv, maxBatchTokens, maxSequences or dtype.");
}

/** Blocks when the caller did not say: what is left, within what so many sequences could ever use. */
int64_t automaticBlocks(Device& device, const ModelSpec& spec, const EngineOptions& options,
                        const MemoryPlan& plan, size_t left) {
  const size_t blockBytes = plan.kvShape.blockBytes();
  const size_t historyBytes = static_cast<size_t>(options.blockSize) * sizeof(TokenCount);
  const size_t usable = left > kRounding ? left - kRounding : 0;
  auto blocks = static_cast<int64_t>(usable / (blockBytes + historyBytes));
  blocks = std::min(blocks, static_cast<int64_t>(plan.batch.maxSequences) * plan.batch.maxBlocksPerSequence);
  if (isCpu(device)) {
    const size_t most = std::min(kLargestHostKv, options.memoryLimit / 4);
    blocks = std::min(blocks, static_cast<int64_t>(most / blockBytes));
  }
  blocks = std::min<int64_t>(blocks, std::numeric_limits<BlockId>::max() / options.blockSize);
  const int32_t tokens = std::min(spec.contextLength, kLeastTokens);
  return std::max<int64_t>(blocks, (tokens + options.blockSize - 1) / options.blockSize);
}

int64_t askedBlocks(const EngineOptions& options, size_t blockBytes) {
  if (options.kvBytes >= blockBytes) return static_cast<int64_t>(options.kvBytes / blockBytes);
  throw Error(ErrorCode::kInvalidArgument,
              "memory.kv is " + std::to_string(options.kvBytes) + "; one KV block of " +
                  std::to_string(options.blockSize) + " tokens takes " + std::to_string(blockBytes) + " bytes");
}

void addFixedItems(MemoryPlan& plan, const Ops& ops, const ModelSpec& spec, const WeightManifest& manifest) {
  const size_t weights = Weights::plannedBytes(spec, manifest, plan.dtype, plan.keepFileDType);
  const size_t constants = Decoder::constantBytes(spec);
  const size_t decoder = Decoder::plannedBytes(spec, plan.dtype, plan.batch);
  plan.items.push_back({Region::kWeights, "weights", DeviceAllocator::rounded(weights)});
  plan.items.push_back({Region::kWeights, "constants", constants});
  plan.items.push_back({Region::kGraph, "activations", decoder - constants});
  const size_t scratch = Decoder::scratchBytes(ops, spec, plan.dtype, plan.batch);
  if (scratch > 0) plan.items.push_back({Region::kGraph, "attention.scratch", DeviceAllocator::rounded(scratch)});
}

/** KV, and the sampler, whose history grows with the KV. */
void addKvItems(MemoryPlan& plan, const ModelSpec& spec) {
  plan.historyEntries = historyEntries(spec, plan);
  const size_t kv = plan.kvShape.blockBytes() * static_cast<size_t>(plan.kvBlocks);
  plan.items.push_back(
      {Region::kGraph, "sampling", StepSampler::plannedBytes(plan.batch.maxSequences, plan.historyEntries)});
  plan.items.push_back({Region::kKv, "kv", DeviceAllocator::rounded(kv)});
}

}  // namespace

size_t MemoryPlan::regionBytes(Region region) const {
  size_t bytes = 0;
  for (const PlanItem& item : items) {
    if (item.region == region) bytes += item.bytes;
  }
  return bytes;
}

MemoryPlan planMemory(Device& device, const ModelSpec& spec, const WeightManifest& manifest,
                      const EngineOptions& options) {
  validateOptions(options);
  MemoryPlan plan;
  plan.keepFileDType = isCpu(device) && !options.dtype;
  plan.dtype = options.dtype ? *options.dtype : isCpu(device) ? DType::kF32 : matrixDType(manifest);
  plan.batch = batchLimits(device, spec, options);
  plan.kvShape = kvShape(spec, options.kvDType.value_or(plan.dtype), options.blockSize);
  const size_t rowBytes = static_cast<size_t>(spec.vocabularySize) * sizeof(float);
  plan.stagingBytes = std::max(rowBytes, std::min(kStagingBytes, rowBytes * plan.batch.maxLogitRows));

  const DeviceMemoryUse use = device.memoryUse();
  // On the CPU what the process holds otherwise is not the engine's.
  if (!isCpu(device)) plan.contextBytes = use.processBytes.value_or(use.totalBytes - use.freeBytes);
  const Room room = roomOf(device, options.memoryLimit, plan.contextBytes, use.freeBytes);
  plan.roomBytes = room.bytes;

  addFixedItems(plan, device.ops(), spec, manifest);
  const size_t fixed = total(plan.items) + StepSampler::plannedBytes(plan.batch.maxSequences, 1);
  plan.kvBlocks = options.kvBytes > 0
                      ? askedBlocks(options, plan.kvShape.blockBytes())
                      : automaticBlocks(device, spec, options, plan, room.bytes > fixed ? room.bytes - fixed : 0);
  addKvItems(plan, spec);
  requireFit(plan, room);
  return plan;
}

}  // namespace octavo
