#include "engine/step_sampler.h"

#include <algorithm>
#include <cstring>

#include "ops/ops.h"

namespace octavo {

namespace {

constexpr Owner kEngine{OwnerKind::kEngine, 0};

size_t align(size_t bytes) { return (bytes + 15) / 16 * 16; }

/** Parameters, history and biases lie one behind the other. */
struct UploadLayout {
  size_t history, biases, end;
  UploadLayout(size_t rows, size_t historyEntries, size_t biasEntries)
      : history(align(rows * sizeof(SamplingParams))),
        biases(history + align(historyEntries * sizeof(TokenCount))),
        end(biases + align(biasEntries * sizeof(LogitBias))) {}
};

size_t largestUpload(int32_t maxRows, int64_t historyEntries) {
  const auto rows = static_cast<size_t>(maxRows);
  return UploadLayout(rows, static_cast<size_t>(historyEntries), rows * kMaxBiases).end;
}

}  // namespace

size_t StepSampler::plannedBytes(int32_t maxRows, int64_t historyEntries) {
  const size_t results = static_cast<size_t>(maxRows) * (1 + kMaxTopLogprobs) * (sizeof(int32_t) + sizeof(float));
  return DeviceAllocator::rounded(largestUpload(maxRows, historyEntries) + results);
}

StepSampler::StepSampler(DeviceAllocator& allocator, const ModelSpec& spec, int32_t maxRows,
                         int64_t historyEntries)
    : device_(allocator.device()),
      vocabulary_(spec.vocabularySize),
      sampled_(spec.sampledVocabulary),
      resultsAt_(largestUpload(maxRows, historyEntries)),
      bytes_(plannedBytes(maxRows, historyEntries)),
      memory_(allocator.allocate(Region::kGraph, bytes_, kEngine, "sampling")),
      pinned_(allocator.allocate(Region::kPinned, bytes_, kEngine, "sampling")) {}

void StepSampler::clear() {
  params_.clear();
  history_.clear();
  biases_.clear();
  topCount_ = 0;
}

void StepSampler::add(const Request& request) {
  SamplingParams params = request.spec.sampling;
  params.position = static_cast<uint32_t>(request.length());
  params.historyStart = static_cast<int32_t>(history_.size());
  params.historyCount = 0;
  if (request.history) {
    const std::vector<TokenCount>& counts = request.history->counts();
    params.historyCount = static_cast<int32_t>(counts.size());
    history_.insert(history_.end(), counts.begin(), counts.end());
  }
  params.biasStart = static_cast<int32_t>(biases_.size());
  params.biasCount = static_cast<int32_t>(request.spec.biases.size());
  biases_.insert(biases_.end(), request.spec.biases.begin(), request.spec.biases.end());
  topCount_ = std::max(topCount_, request.spec.topLogprobs);
  params_.push_back(params);
}

SampleArguments StepSampler::upload(const Matrix& logits, Stream& stream) {
  const UploadLayout layout(params_.size(), history_.size(), biases_.size());
  if (layout.end > resultsAt_ || logits.stride != vocabulary_ || logits.rows < rows()) {
    throw Error(ErrorCode::kInternal, "sampling " + std::to_string(rows()) + " rows takes " +
                                          std::to_string(layout.end) + " bytes of " + std::to_string(resultsAt_) +
                                          " planned and " + std::to_string(logits.rows) + " logit rows of stride " +
                                          std::to_string(logits.stride));
  }
  auto* const pinned = static_cast<std::byte*>(pinned_.data());
  std::memcpy(pinned, params_.data(), params_.size() * sizeof(SamplingParams));
  std::copy(history_.begin(), history_.end(), reinterpret_cast<TokenCount*>(pinned + layout.history));
  std::copy(biases_.begin(), biases_.end(), reinterpret_cast<LogitBias*>(pinned + layout.biases));
  device_.copy(memory_.data(), pinned, layout.end, CopyKind::kHostToDevice, stream);

  auto* const memory = static_cast<std::byte*>(memory_.data());
  SampleArguments arguments;
  arguments.logits = static_cast<float*>(logits.data);
  arguments.rows = rows();
  arguments.vocabulary = vocabulary_;
  arguments.sampled = sampled_;
  arguments.params = reinterpret_cast<const SamplingParams*>(memory);
  arguments.history = reinterpret_cast<const TokenCount*>(memory + layout.history);
  arguments.biases = reinterpret_cast<const LogitBias*>(memory + layout.biases);
  return arguments;
}

void StepSampler::run(const Matrix& logits, Stream& stream) {
  SampleArguments arguments = upload(logits, stream);
  const auto rows = params_.size();
  results_.logprobs = rows * sizeof(int32_t);
  results_.topTokens = results_.logprobs + rows * sizeof(float);
  results_.topLogprobs = results_.topTokens + rows * static_cast<size_t>(topCount_) * sizeof(int32_t);
  results_.end = results_.topLogprobs + rows * static_cast<size_t>(topCount_) * sizeof(float);

  auto* const results = static_cast<std::byte*>(memory_.data()) + resultsAt_;
  arguments.tokens = reinterpret_cast<int32_t*>(results);
  arguments.logprobs = reinterpret_cast<float*>(results + results_.logprobs);
  arguments.topCount = topCount_;
  arguments.topTokens = reinterpret_cast<int32_t*>(results + results_.topTokens);
  arguments.topLogprobs = reinterpret_cast<float*>(results + results_.topLogprobs);
  device_.ops().sample(arguments, stream);
  device_.copy(static_cast<std::byte*>(pinned_.data()) + resultsAt_, results, results_.end,
               CopyKind::kDeviceToHost, stream);
}

template <typename T>
const T* StepSampler::result(size_t offset) const {
  return reinterpret_cast<const T*>(static_cast<const std::byte*>(pinned_.data()) + resultsAt_ + offset);
}

int32_t StepSampler::token(int32_t row) const { return result<int32_t>(results_.tokens)[row]; }

float StepSampler::logprob(int32_t row) const { return result<float>(results_.logprobs)[row]; }

std::vector<std::pair<int32_t, float>> StepSampler::top(int32_t row, int32_t count) const {
  std::vector<std::pair<int32_t, float>> best;
  const size_t first = static_cast<size_t>(row) * static_cast<size_t>(topCount_);
  for (int32_t index = 0; index < count; ++index) {
    best.emplace_back(result<int32_t>(results_.topTokens)[first + index],
                      result<float>(results_.topLogprobs)[first + index]);
  }
  return best;
}

}  // namespace octavo
