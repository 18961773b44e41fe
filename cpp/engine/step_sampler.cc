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

}  // namespace

size_t StepSampler::uploadBytes(int32_t maxRows, int64_t historyEntries) {
  const auto rows = static_cast<size_t>(maxRows);
  return UploadLayout(rows, static_cast<size_t>(historyEntries) + 1, rows * kMaxBiases).end;  // one to align biases
}

size_t StepSampler::resultBytes(int32_t rows) { return Results::of(nullptr, rows, kMaxTopLogprobs).end; }

size_t StepSampler::plannedBytes(int32_t maxRows, int64_t historyEntries) {
  return DeviceAllocator::rounded(uploadBytes(maxRows, historyEntries) + resultBytes(maxRows));
}

StepSampler::Results StepSampler::Results::of(const std::byte* at, int32_t rows, int32_t topCount) {
  const auto count = static_cast<size_t>(rows), tops = count * static_cast<size_t>(topCount);
  Results results;
  results.at = at;
  results.topCount = topCount;
  results.logprobs = count * sizeof(int32_t);
  results.topTokens = results.logprobs + count * sizeof(float);
  results.topLogprobs = results.topTokens + tops * sizeof(int32_t);
  results.end = results.topLogprobs + tops * sizeof(float);
  return results;
}

int64_t StepSampler::entries(int32_t maxRows, int64_t historyEntries) {
  return historyEntries + int64_t{maxRows} * kMaxBiases;
}

StepSampler::StepSampler(DeviceAllocator& allocator, const ModelSpec& spec, int32_t maxRows, int64_t historyEntries,
                         int32_t stepsAtOnce)
    : device_(allocator.device()),
      vocabulary_(spec.vocabularySize),
      sampled_(spec.sampledVocabulary),
      resultsAt_(uploadBytes(maxRows, historyEntries)),
      bytes_(plannedBytes(maxRows, historyEntries)),
      memory_(allocator.allocate(Region::kGraph, bytes_, kEngine, "sampling")),
      pinned_(allocator.allocate(Region::kPinned, bytes_ * static_cast<size_t>(stepsAtOnce), kEngine, "sampling")) {}

std::byte* StepSampler::pinned(size_t turn) const { return static_cast<std::byte*>(pinned_.data()) + turn * bytes_; }

const int32_t* StepSampler::deviceTokens() const {
  return reinterpret_cast<const int32_t*>(static_cast<const std::byte*>(memory_.data()) + resultsAt_);
}

void StepSampler::clear() {
  params_.clear();
  history_.clear();
  biases_.clear();
  topCount_ = 0;
  resolves_ = false;
}

void StepSampler::add(const Request& request) {
  SamplingParams& params = params_.emplace_back(request.spec.sampling);
  params.position = static_cast<uint32_t>(request.expectedLength());
  params.historyStart = static_cast<int32_t>(history_.size());
  if (request.history) addHistory(request);
  params.historyCount = static_cast<int32_t>(history_.size()) - params.historyStart;
  params.biasStart = static_cast<int32_t>(biases_.size());
  params.biasCount = static_cast<int32_t>(request.spec.biases.size());
  const std::vector<LogitBias>& biases = request.spec.biases;
  if (!biases.empty()) biases_.insert(biases_.end(), biases.begin(), biases.end());
  topCount_ = std::max(topCount_, request.spec.topLogprobs);
}

void StepSampler::addHistory(const Request& request) {
  const std::vector<TokenCount>& counts = request.history->counts();
  history_.insert(history_.end(), counts.begin(), counts.end());
  if (request.inFlight.outputs == 0) return;
  history_.push_back({sampledAt(request.inFlight.row), 0});
  resolves_ = true;
}

SampleArguments StepSampler::upload(const Matrix& logits, std::byte* pinned, Stream& stream) {
  const UploadLayout layout(params_.size(), history_.size(), biases_.size());
  if (layout.end > resultsAt_ || logits.stride != vocabulary_ || logits.rows < rows()) {
    throw Error(ErrorCode::kInternal, "sampling " + std::to_string(rows()) + " rows takes " +
                                          std::to_string(layout.end) + " bytes of " + std::to_string(resultsAt_) +
                                          " planned and " + std::to_string(logits.rows) + " logit rows of stride " +
                                          std::to_string(logits.stride));
  }
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
  auto* const history = reinterpret_cast<TokenCount*>(memory + layout.history);
  if (resolves_) device_.ops().resolveHistory(history, arguments.params, rows(), deviceTokens(), stream);
  arguments.history = history;
  arguments.biases = reinterpret_cast<const LogitBias*>(memory + layout.biases);
  return arguments;
}

void StepSampler::setResults(SampleArguments& arguments, const Results& results) const {
  auto* const memory = static_cast<std::byte*>(memory_.data()) + resultsAt_;
  arguments.tokens = reinterpret_cast<int32_t*>(memory);
  arguments.logprobs = reinterpret_cast<float*>(memory + results.logprobs);
  arguments.topCount = results.topCount;
  arguments.topTokens = reinterpret_cast<int32_t*>(memory + results.topTokens);
  arguments.topLogprobs = reinterpret_cast<float*>(memory + results.topLogprobs);
}

StepSampler::Results StepSampler::run(const Matrix& logits, size_t turn, Stream& stream) {
  SampleArguments arguments = upload(logits, pinned(turn), stream);
  std::byte* const to = pinned(turn) + resultsAt_;
  const Results results = Results::of(to, rows(), topCount_);
  setResults(arguments, results);
  device_.ops().sample(arguments, stream);
  device_.copy(to, deviceTokens(), results.end, CopyKind::kDeviceToHost, stream);
  return results;
}

void StepSampler::record(SampleArguments arguments, const Matrix& logits, bool resolves, Stream& stream) const {
  arguments.logits = static_cast<float*>(logits.data);
  arguments.vocabulary = vocabulary_;
  arguments.sampled = sampled_;
  setResults(arguments, Results::of(nullptr, arguments.rows, kMaxTopLogprobs));
  auto* const history = const_cast<TokenCount*>(arguments.history);
  if (resolves) device_.ops().resolveHistory(history, arguments.params, arguments.rows, deviceTokens(), stream);
  device_.ops().sample(arguments, stream);
}

std::vector<std::pair<int32_t, float>> StepSampler::top(int32_t row, int32_t count) const {
  std::vector<std::pair<int32_t, float>> best;
  const Results& at = reading_;
  const size_t first = static_cast<size_t>(row) * static_cast<size_t>(at.topCount);
  for (int32_t index = 0; index < count; ++index) {
    best.emplace_back(result<int32_t>(at.topTokens)[first + index], result<float>(at.topLogprobs)[first + index]);
  }
  return best;
}

}  // namespace octavo
