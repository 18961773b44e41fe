#include "engine/memory_plan.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "engine/graph_input.h"
#include "engine/step_sampler.h"
#include "memory/format_bytes.h"
#include "model/activation_plan.h"
#include "model/batch_input.h"
#include "model/decoder.h"
#include "model/rope_constants.h"

namespace octavo {

namespace {

constexpr size_t kGiB = size_t{1} << 30;
constexpr int32_t kLeastTokens = 2048;         // an automatic KV size below one such sequence is no use
constexpr size_t kLargestHostKv = kGiB;        // host memory is shared with everything else
constexpr size_t kRounding = kPageBytes + 4096;  // what rounding of the KV and sampling items can add

size_t total(const std::vector<PlanItem>& items, bool onDevice) {
  size_t bytes = 0;
  for (const PlanItem& item : items) {
    if ((item.region != Region::kPinned) == onDevice) bytes += item.bytes;
  }
  return bytes;
}

/**
 * Distinct tokens that running requests can have seen: bounded by their blocks and by the vocabulary. One more each
 * where the last is not known when its step is planned.
 */
int64_t historyEntries(const ModelSpec& spec, const MemoryPlan& plan) {
  const int64_t unknown = plan.batch.stepsAtOnce > 1 ? 1 : 0;
  const int64_t each = std::min(spec.contextLength, spec.vocabularySize) + unknown;
  const int64_t held = plan.kvBlocks * plan.kvShape.blockSize + plan.batch.maxSequences;
  return std::max<int64_t>(1, std::min(each * plan.batch.maxSequences, held));
}

void setRoom(MemoryPlan& plan) {
  const PlanTarget& target = plan.target;
  const size_t limit = plan.limitBytes;
  const size_t underLimit = limit > plan.contextBytes ? limit - plan.contextBytes : 0;
  if (underLimit <= target.freeBytes) {
    plan.roomBytes = underLimit;
    plan.roomOrigin = "memory.limit leaves " + std::to_string(underLimit) + " bytes (" + std::to_string(limit) +
                      " less " + std::to_string(plan.contextBytes) + " of the context)";
    return;
  }
  plan.roomBytes = target.freeBytes;
  plan.roomOrigin = target.device + " has " + std::to_string(target.freeBytes) + " bytes free (memory.limit is " +
                    std::to_string(limit) + ")";
}

/** Blocks when the caller did not say: what is left, within what so many sequences could ever use. */
int64_t automaticBlocks(const ModelSpec& spec, const MemoryPlan& plan, size_t left) {
  const size_t blockBytes = plan.kvShape.blockBytes();
  const int32_t blockSize = plan.kvShape.blockSize;
  const size_t histories = plan.batch.graphs ? 2 : 1;  // recorded steps have one of their own
  const size_t historyBytes = histories * static_cast<size_t>(blockSize) * sizeof(TokenCount);
  const size_t usable = left > kRounding ? left - kRounding : 0;
  auto blocks = static_cast<int64_t>(usable / (blockBytes + historyBytes));
  blocks = std::min(blocks, static_cast<int64_t>(plan.batch.maxSequences) * plan.batch.maxBlocksPerSequence);
  if (plan.target.onHost) {
    const size_t most = std::min(kLargestHostKv, plan.limitBytes / 4);
    blocks = std::min(blocks, static_cast<int64_t>(most / blockBytes));
  }
  blocks = std::min<int64_t>(blocks, std::numeric_limits<BlockId>::max() / blockSize);
  const int32_t tokens = std::min(spec.contextLength, kLeastTokens);
  return std::max(blocks, plan.blocksOf(tokens));
}

int64_t askedBlocks(const EngineOptions& options, size_t blockBytes) {
  if (options.kvBytes >= blockBytes) return static_cast<int64_t>(options.kvBytes / blockBytes);
  throw Error(ErrorCode::kInvalidArgument,
              "memory.kv is " + std::to_string(options.kvBytes) + "; one KV block of " +
                  std::to_string(options.blockSize) + " tokens takes " + std::to_string(blockBytes) + " bytes");
}

void addItem(MemoryPlan& plan, Region region, const char* tag, size_t bytes) {
  plan.items.push_back({region, tag, DeviceAllocator::rounded(region, bytes)});
}

/** What does not depend on the size of the KV cache. */
void addFixedItems(MemoryPlan& plan, const ModelSpec& spec, const WeightManifest& manifest) {
  addItem(plan, Region::kWeights, "weights",
          Weights::plannedBytes(spec, manifest, plan.dtype, plan.keepFileDType, plan.mapFiles));
  addItem(plan, Region::kWeights, "rope", RopeConstants::plannedBytes(spec));
  addItem(plan, Region::kGraph, "activations", ActivationPlan::of(spec, plan.dtype, plan.batch).bytes);
  const size_t scratch = Decoder::scratchBytes(spec, plan.dtype, plan.batch, plan.target.onHost);
  if (scratch > 0) addItem(plan, Region::kGraph, "attention.scratch", scratch);
  const size_t products =
      Decoder::linearScratchBytes(codedShapes(manifest), plan.dtype, plan.batch, plan.target.onHost);
  if (products > 0) addItem(plan, Region::kGraph, "linear.scratch", products);
  addItem(plan, Region::kGraph, "batch.input", BatchInput::plannedBytes(plan.batch));
  if (plan.batch.graphs) addItem(plan, Region::kGraph, "graphs.table", BatchInput::tableBytes(plan.batch));
  addItem(plan, Region::kPinned, "batch.upload", BatchInput::pinnedBytes(plan.batch));
  addItem(plan, Region::kPinned, "scores", plan.stagingBytes);
}

/** KV, and the sampler, whose history grows with the KV. */
void addKvItems(MemoryPlan& plan, const ModelSpec& spec) {
  plan.historyEntries = historyEntries(spec, plan);
  const size_t sampling = StepSampler::plannedBytes(plan.batch.maxSequences, plan.historyEntries);
  addItem(plan, Region::kGraph, "sampling", sampling);
  addItem(plan, Region::kPinned, "sampling", sampling * static_cast<size_t>(plan.batch.stepsAtOnce));
  if (plan.batch.graphs) {
    addItem(plan, Region::kGraph, "graphs.input", GraphInput::plannedBytes(plan.batch, plan.historyEntries));
    addItem(plan, Region::kPinned, "graphs.images", GraphInput::pinnedBytes(plan.batch, plan.historyEntries));
  }
  addItem(plan, Region::kKv, "kv", KvCache::plannedBytes(plan.kvShape, plan.kvBlocks));
}

void addLoadingItems(MemoryPlan& plan, const ModelSpec& spec, const WeightManifest& manifest) {
  const StreamBytes stream = Weights::streamBytes(spec, manifest, plan.dtype, plan.keepFileDType, plan.target.onHost,
                                                  plan.pinnedLimitBytes, plan.mapFiles);
  if (stream.ring > 0) plan.loading.push_back({Region::kPinned, "weights.ring", stream.ring});
  if (stream.staging > 0) plan.loading.push_back({Region::kWorkspace, "weights.staging", stream.staging});
}

MemoryPlan planWeights(const PlanTarget& target, const ModelSpec& spec, const WeightManifest& manifest,
                       const EngineOptions& options, bool mapFiles) {
  MemoryPlan plan;
  static_cast<PlanShape&>(plan) = PlanShape::of(target.onHost, spec, manifest, options);
  plan.mapFiles = mapFiles;
  if (mapFiles) plan.mappedBytes = Weights::mappedBytes(spec, manifest, plan.dtype, plan.keepFileDType);
  plan.target = target;
  plan.contextLength = spec.contextLength;
  plan.limitBytes = options.memoryLimit;
  plan.pinnedLimitBytes = options.pinnedLimit;
  plan.contextBytes = target.contextBytes.value_or(0);
  setRoom(plan);

  addFixedItems(plan, spec, manifest);
  addLoadingItems(plan, spec, manifest);
  size_t fixed = plan.deviceBytes() + StepSampler::plannedBytes(plan.batch.maxSequences, 1);
  if (plan.batch.graphs) fixed += GraphInput::plannedBytes(plan.batch, 1);
  const size_t left = plan.roomBytes > fixed ? plan.roomBytes - fixed : 0;
  plan.kvBlocks = options.kvBytes > 0 ? askedBlocks(options, plan.kvShape.blockBytes())
                                      : automaticBlocks(spec, plan, left);
  addKvItems(plan, spec);
  return plan;
}

/** Counts items against what there is for them, in their order. */
std::optional<Misfit> firstBeyond(const std::vector<PlanItem>& items, bool onDevice, size_t left) {
  for (const PlanItem& item : items) {
    if ((item.region != Region::kPinned) != onDevice) continue;
    if (item.bytes > left) return Misfit{item, left};
    left -= item.bytes;
  }
  return std::nullopt;
}

size_t bytesOf(const std::vector<PlanItem>& items, const std::string& tag) {
  for (const PlanItem& item : items) {
    if (item.tag == tag) return item.bytes;
  }
  return 0;
}

std::string list(const std::vector<PlanItem>& items) {
  std::string text;
  for (const PlanItem& item : items) {
    if (item.region == Region::kPinned) continue;
    if (!text.empty()) text += ", ";
    text += item.tag + " " + std::to_string(item.bytes) + " bytes (" + formatBytes(item.bytes) + ")";
  }
  return text;
}

}  // namespace

PlanTarget PlanTarget::of(Device& device) {
  const DeviceMemoryUse use = device.memoryUse();
  PlanTarget target;
  target.device = device.info().id;
  target.onHost = target.device == "cpu";
  target.totalBytes = use.totalBytes;
  target.freeBytes = use.freeBytes;
  target.contextBytes = target.onHost ? 0 : use.processBytes.value_or(use.totalBytes - use.freeBytes);
  return target;
}

size_t MemoryPlan::regionBytes(Region region) const {
  size_t bytes = 0;
  for (const PlanItem& item : items) {
    if (item.region == region) bytes += item.bytes;
  }
  return bytes;
}

size_t MemoryPlan::deviceBytes() const { return total(items, true); }

size_t MemoryPlan::devicePeakBytes() const {
  return std::max(deviceBytes(), bytesOf(items, "weights") + total(loading, true));
}

size_t MemoryPlan::pinnedPeakBytes() const { return std::max(total(items, false), total(loading, false)); }

int64_t MemoryPlan::blocksOf(int32_t tokens) const {
  return (static_cast<int64_t>(tokens) + kvShape.blockSize - 1) / kvShape.blockSize;
}

int64_t MemoryPlan::sessionsOf(int32_t tokens) const { return kvBlocks / std::max<int64_t>(1, blocksOf(tokens)); }

int32_t MemoryPlan::longestContext() const {
  return static_cast<int32_t>(std::min<int64_t>(contextLength, kvBlocks * kvShape.blockSize));
}

std::optional<Misfit> MemoryPlan::misfit(const PlanDemand& demand) const {
  if (const auto found = firstBeyond(items, true, roomBytes)) return found;
  const size_t besideWeights = roomBytes - bytesOf(items, "weights");  // they fit
  if (const auto found = firstBeyond(loading, true, besideWeights)) return found;
  if (const auto found = firstBeyond(loading, false, pinnedLimitBytes)) return found;
  if (const auto found = firstBeyond(items, false, pinnedLimitBytes)) return found;
  if (demand.contextTokens == 0 || demand.sessions <= sessionsOf(demand.contextTokens)) return std::nullopt;
  const size_t blockBytes = kvShape.blockBytes();
  const auto wanted = static_cast<size_t>(blocksOf(demand.contextTokens)) * static_cast<size_t>(demand.sessions);
  return Misfit{{Region::kKv, "kv", wanted * blockBytes}, static_cast<size_t>(kvBlocks) * blockBytes};
}

MemoryPlan planMemory(const PlanTarget& target, const ModelSpec& spec, const WeightManifest& manifest,
                      const EngineOptions& options) {
  MemoryPlan plan = planWeights(target, spec, manifest, options, false);
  if (!target.onHost || !plan.keepFileDType || !plan.misfit()) return plan;
  MemoryPlan mapped = planWeights(target, spec, manifest, options, true);  // what is missing then, is missing
  return mapped.mappedBytes > 0 ? mapped : plan;
}

MemoryPlan planAgain(const MemoryPlan& plan, const PlanTarget& target, const ModelSpec& spec,
                     const WeightManifest& manifest, const EngineOptions& options) {
  return planWeights(target, spec, manifest, options, plan.mapFiles);
}

void requireFit(const MemoryPlan& plan) {
  const std::optional<Misfit> misfit = plan.misfit();
  if (!misfit) return;
  const std::string first = misfit->item.tag + ", short by " +
                            std::to_string(misfit->item.bytes - misfit->leftBytes) + " bytes";
  if (misfit->item.region == Region::kPinned) {
    throw Error(ErrorCode::kOutOfMemory,
                "the plan takes " + std::to_string(plan.pinnedPeakBytes()) + " bytes of page-locked host memory, " +
                    "memory.pinned allows " + std::to_string(plan.pinnedLimitBytes) +
                    "; the first item that does not fit is " + first +
                    ". Raise memory.pinned, or load with smaller maxBatchTokens or maxSequences.");
  }
  const size_t needed = plan.devicePeakBytes();
  throw Error(ErrorCode::kOutOfMemory,
              "the plan does not fit by " + std::to_string(needed - plan.roomBytes) + " bytes: it needs " +
                  std::to_string(needed) + " bytes (" + list(plan.items) +
                  "), and the first item that does not fit is " + first + "; " + plan.roomOrigin +
                  ". Raise memory.limit, or load with a smaller memory.kv, maxBatchTokens, maxSequences or dtype.");
}

}  // namespace octavo
