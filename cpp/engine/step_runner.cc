#include "engine/step_runner.h"

#include <algorithm>
#include <utility>

namespace octavo {

namespace {

constexpr Owner kEngine{OwnerKind::kEngine, 0};

std::unique_ptr<Stream> createStream(Device& device, bool concurrent) {
  return concurrent ? device.createConcurrentStream() : device.createStream();
}

}  // namespace

StepRunner::StepRunner(DeviceAllocator& allocator, const ModelSpec& spec, const Weights& weights, KvCache& cache,
                       const MemoryPlan& plan)
    : device_(allocator.device()),
      cache_(cache),
      limits_(plan.batch),
      vocabulary_(spec.vocabularySize),
      stream_(createStream(device_, limits_.stepsAtOnce > 1)),
      decoder_(allocator, spec, weights, plan.dtype, plan.batch),
      sampler_(allocator, spec, plan.batch.maxSequences, plan.historyEntries, plan.batch.stepsAtOnce),
      staging_(allocator.allocate(Region::kPinned, plan.stagingBytes, kEngine, "scores")) {
  tokens_.reserve(static_cast<size_t>(limits_.maxTokens));
  if (limits_.graphs) graphs_.emplace(allocator, decoder_, sampler_, limits_, plan.historyEntries);
  for (int32_t turn = 0; limits_.stepsAtOnce > 1 && turn < limits_.stepsAtOnce; ++turn) {
    done_.push_back(device_.createEvent());
  }
}

void StepRunner::begin() {
  sequences_.clear();
  tokens_.clear();
  scores_.clear();
  sampler_.clear();
}

void StepRunner::add(const PlannedSequence& planned, const Request& request, const Session& session) {
  BatchSequence& sequence = sequences_.emplace_back();
  sequence.start = planned.start;
  sequence.blocks = &session.blocks;
  sequence.everyLogit = planned.logits == LogitsWanted::kEvery;
  sequence.noLogit = planned.logits == LogitsWanted::kNone;
  sequence.tokens = tokensOf(planned, request);
  if (planned.logits == LogitsWanted::kLast) sampler_.add(request);
  if (planned.logits == LogitsWanted::kEvery) scores_.push_back({request.logits, planned.start, planned.count});
}

std::span<const int32_t> StepRunner::tokensOf(const PlannedSequence& planned, const Request& request) {
  const size_t first = tokens_.size(), end = first + static_cast<size_t>(planned.count);
  if (end > static_cast<size_t>(limits_.maxTokens)) {
    throw Error(ErrorCode::kInternal, "a step of " + std::to_string(end) + " tokens, planned for " +
                                          std::to_string(limits_.maxTokens));
  }
  if (planned.start >= request.length()) {  // a decode ahead of its results
    tokens_.resize(end, sampledAt(request.inFlight.row));
    return {tokens_.data() + first, tokens_.data() + end};
  }
  const auto stop = static_cast<size_t>(planned.start) + static_cast<size_t>(planned.count);
  size_t from = static_cast<size_t>(planned.start);
  const auto append = [&](const std::vector<int32_t>& tokens, size_t first) {
    const size_t most = std::min(stop, first + tokens.size());
    if (from >= most) return;
    tokens_.insert(tokens_.end(), tokens.begin() + (from - first), tokens.begin() + (most - first));
    from = most;
  };
  append(request.spec.prompt, 0);
  append(request.output, request.spec.prompt.size());
  for (; from < stop; ++from) tokens_.push_back(sampledAt(request.inFlight.row));
  return {tokens_.data() + first, tokens_.data() + end};
}

void StepRunner::seal() {
  batch_.rebuild(sequences_, cache_.shape().blockSize, limits_);
  sequences_.clear();  // they point at block tables, which are the sessions'
}

void StepRunner::moveBlocks(const std::vector<BlockMove>& moves) {
  copies_.clear();
  for (const BlockMove& move : moves) {
    if (!isApart(copies_, {move.from, move.to})) flushCopies();
    copies_.push_back({move.from, move.to});
  }
  flushCopies();
}

/** One call of those that may happen in any order. */
void StepRunner::flushCopies() {
  if (copies_.empty()) return;
  void* const blocks = cache_.view().data;
  device_.ops().copyBlocks({blocks, blocks, cache_.shape().blockBytes(), copies_.data(),
                            static_cast<int64_t>(copies_.size())}, *stream_);
  copies_.clear();
}

TuningReport StepRunner::tune(const TuningOptions& options, const std::atomic<bool>& cancelled) {
  return tuneProducts(device_, decoder_.linearTrials(), options, cancelled, *stream_);
}

void StepRunner::captureGraphs(int32_t failing) {
  if (!graphs_) return;
  graphs_->capture(cache_.view(), *stream_, failing);
}

/** By a graph, or op by op. */
StepRunner::Launched StepRunner::enqueue(size_t turn) {
  if (graphs_) {
    if (const auto results = graphs_->replay(batch_, *stream_)) return {{}, sampler_.rows(), {}, turn, *results};
  }
  const Matrix logits = decoder_.forward(batch_, cache_.view(), *stream_, sampler_.deviceTokens());
  StepSampler::Results results;
  if (sampler_.rows() > 0) results = sampler_.run(logits, turn, *stream_);
  return {logits, sampler_.rows(), std::exchange(scores_, {}), turn, results};
}

void StepRunner::launch() {
  const size_t turn = nextTurn_;
  nextTurn_ = (nextTurn_ + 1) % static_cast<size_t>(limits_.stepsAtOnce);
  Launched step = enqueue(turn);
  if (!done_.empty()) done_[turn]->record(*stream_);
  launched_.push_back(std::move(step));
}

void StepRunner::wait() {
  Launched step = std::move(launched_.front());
  launched_.pop_front();
  if (done_.empty()) stream_->synchronize();
  else done_[step.turn]->synchronize();
  sampler_.read(step.results);
  copyScores(step);
}

/**
 * Scored rows follow the sampled ones. They pass through the pinned staging buffer a few rows at a time; no later step
 * was launched, or its logits would be there.
 */
void StepRunner::copyScores(Launched& step) {
  const size_t rowBytes = static_cast<size_t>(vocabulary_) * sizeof(float);
  const auto rowsAtOnce = static_cast<int32_t>(std::min<size_t>(staging_.bytes() / rowBytes, 1 << 20));
  const auto* row = static_cast<const std::byte*>(step.logits.data) + step.sampledRows * rowBytes;
  const auto* const staged = static_cast<const float*>(staging_.data());
  for (const Score& score : step.scores) {
    // Positions that were computed before are computed again after their KV went: their logits are there.
    const auto known = static_cast<int32_t>(score.logits->size() / static_cast<size_t>(vocabulary_));
    const int32_t first = std::clamp(known - score.start, 0, score.rows);
    row += first * rowBytes;
    for (int32_t done = first; done < score.rows;) {
      const int32_t rows = std::min(rowsAtOnce, score.rows - done);
      device_.copy(staging_.data(), row, rows * rowBytes, CopyKind::kDeviceToHost, *stream_);
      stream_->synchronize();
      score.logits->insert(score.logits->end(), staged, staged + static_cast<size_t>(rows) * vocabulary_);
      row += rows * rowBytes;
      done += rows;
    }
  }
}

}  // namespace octavo
