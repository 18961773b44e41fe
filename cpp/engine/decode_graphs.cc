#include "engine/decode_graphs.h"

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "engine/graph_buckets.h"

namespace octavo {

namespace {

/** What the driver counts: for this process, else for all of the device; the CPU's is not the graphs'. */
size_t driverBytes(Device& device) {
  if (device.sharesHostMemory()) return 0;
  const DeviceMemoryUse use = device.memoryUse();
  return use.processBytes.value_or(use.totalBytes - use.freeBytes);
}

int32_t largestBucket(const BatchLimits& limits) {
  return std::min({limits.maxSequences, limits.maxTokens, limits.maxLogitRows});
}

/** One token of every sequence, and the next one sampled of each. */
bool isDecode(const Batch& batch, const StepSampler& sampler) {
  const size_t sequences = batch.contextLength.size();
  return batch.maxQueryLength == 1 && batch.logitRows.size() == sequences &&
         static_cast<size_t>(sampler.rows()) == sequences;
}

}  // namespace

DecodeGraphs::DecodeGraphs(DeviceAllocator& allocator, Decoder& decoder, StepSampler& sampler,
                           const BatchLimits& limits, int64_t historyEntries)
    : device_(allocator.device()),
      decoder_(decoder),
      sampler_(sampler),
      input_(allocator, limits, historyEntries),
      overlaps_(limits.stepsAtOnce > 1),
      sizes_(graphBuckets(largestBucket(limits))),
      buckets_(sizes_.size()) {}

void DecodeGraphs::record(int32_t sequences, const KvCacheView& cache, Stream& stream) {
  Ops& ops = device_.ops();
  input_.fetch(ops, stream);
  const int32_t* const sampled = overlaps_ ? sampler_.deviceTokens() : nullptr;
  const Matrix logits = decoder_.decode(input_.batch(sequences), sequences, cache, stream, sampled);
  sampler_.record(input_.arguments(sequences), logits, overlaps_, stream);
  input_.store(ops, sampler_.deviceTokens(), StepSampler::resultBytes(sequences), stream);
}

void DecodeGraphs::capture(const KvCacheView& cache, Stream& stream, int32_t failing) {
  const auto began = std::chrono::steady_clock::now();
  for (size_t index = sizes_.size(); index-- > 0;) {
    captureOne(index, stream, [&, index] {
      record(sizes_[index], cache, stream);
      if (sizes_[index] == failing) stream.synchronize();
    });
  }
  fallbacks_ = 0;  // what ran before was the warm-up
  captureNanoseconds_ = std::chrono::nanoseconds(std::chrono::steady_clock::now() - began).count();
}

/** A graph less is a slower step: whatever stopped the capture, the engine serves. */
void DecodeGraphs::captureOne(size_t index, Stream& stream, const std::function<void()>& record) {
  Bucket& bucket = buckets_[index];
  const size_t before = driverBytes(device_);
  try {
    bucket.graph = device_.capture(stream, record);
    bucket.problem.clear();
  } catch (const Error& error) {
    bucket.graph.reset();
    bucket.problem = error.what();
  }
  const size_t after = driverBytes(device_);
  bucket.bytes = bucket.graph ? after - std::min(after, before) : 0;
}

std::optional<StepSampler::Results> DecodeGraphs::replay(Batch& batch, Stream& stream) {
  if (!isDecode(batch, sampler_)) return std::nullopt;
  const size_t index = bucketFor(sizes_, static_cast<int64_t>(batch.contextLength.size()));
  if (index == sizes_.size() || !buckets_[index].graph) {
    ++fallbacks_;
    return std::nullopt;
  }
  Bucket& bucket = buckets_[index];
  batch.padTo(sizes_[index]);
  input_.fill(decoder_, batch, sizes_[index], sampler_);
  bucket.graph->launch(stream);
  input_.passTurn();
  ++launches_;
  ++bucket.replays;
  return StepSampler::Results::of(input_.results(), sizes_[index], kMaxTopLogprobs);
}

GraphReport DecodeGraphs::report() const {
  GraphReport report;
  report.enabled = true;
  report.fallbacks = fallbacks_;
  report.launches = launches_;
  report.captureNanoseconds = captureNanoseconds_;
  for (size_t index = 0; index < sizes_.size(); ++index) {
    const Bucket& bucket = buckets_[index];
    report.buckets.push_back({sizes_[index], bucket.graph ? bucket.graph->nodes() : 0, bucket.bytes, bucket.replays,
                              bucket.problem});
  }
  return report;
}

}  // namespace octavo
