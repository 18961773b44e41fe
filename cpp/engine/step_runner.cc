#include "engine/step_runner.h"

#include <algorithm>

namespace octavo {

namespace {

constexpr Owner kEngine{OwnerKind::kEngine, 0};

}  // namespace

StepRunner::StepRunner(DeviceAllocator& allocator, const ModelSpec& spec, const Weights& weights, KvCache& cache,
                       const MemoryPlan& plan)
    : device_(allocator.device()),
      cache_(cache),
      limits_(plan.batch),
      vocabulary_(spec.vocabularySize),
      stream_(allocator.device().createStream()),
      decoder_(allocator, spec, weights, plan.dtype, plan.batch),
      sampler_(allocator, spec, plan.batch.maxSequences, plan.historyEntries),
      staging_(allocator.allocate(Region::kPinned, plan.stagingBytes, kEngine, "scores")) {}

void StepRunner::begin() {
  sequences_.clear();
  scores_.clear();
  sampler_.clear();
}

void StepRunner::add(const PlannedSequence& planned, const Request& request, const Session& session) {
  BatchSequence& sequence = sequences_.emplace_back();
  sequence.start = planned.start;
  sequence.blocks = &session.blocks;
  sequence.everyLogit = planned.logits == LogitsWanted::kEvery;
  sequence.noLogit = planned.logits == LogitsWanted::kNone;
  sequence.tokens.resize(static_cast<size_t>(planned.count));
  for (int32_t index = 0; index < planned.count; ++index) {
    sequence.tokens[index] = request.token(planned.start + index);
  }
  if (planned.logits == LogitsWanted::kLast) sampler_.add(request);
  if (planned.logits == LogitsWanted::kEvery) scores_.push_back({request.logits, planned.count});
}

void StepRunner::seal() {
  batch_ = Batch::build(sequences_, cache_.shape().blockSize, limits_);
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

void StepRunner::run() {
  const Matrix logits = decoder_.forward(batch_, cache_.view(), *stream_);
  if (sampler_.rows() > 0) sampler_.run(logits, *stream_);
  stream_->synchronize();
  copyScores(logits);
}

/** Scored rows follow the sampled ones. They pass through the pinned staging buffer a few rows at a time. */
void StepRunner::copyScores(const Matrix& logits) {
  const size_t rowBytes = static_cast<size_t>(vocabulary_) * sizeof(float);
  const auto rowsAtOnce = static_cast<int32_t>(std::min<size_t>(staging_.bytes() / rowBytes, 1 << 20));
  const auto* row = static_cast<const std::byte*>(logits.data) + sampler_.rows() * rowBytes;
  const auto* const staged = static_cast<const float*>(staging_.data());
  for (const Score& score : scores_) {
    for (int32_t done = 0; done < score.rows;) {
      const int32_t rows = std::min(rowsAtOnce, score.rows - done);
      device_.copy(staging_.data(), row, rows * rowBytes, CopyKind::kDeviceToHost, *stream_);
      stream_->synchronize();
      score.logits->insert(score.logits->end(), staged, staged + static_cast<size_t>(rows) * vocabulary_);
      row += rows * rowBytes;
      done += rows;
    }
  }
  scores_.clear();
}

}  // namespace octavo
