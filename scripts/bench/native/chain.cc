// octavo-bench-chain: a decode step of an 8B model as one replayed graph, one JSON object a case on stdout.
#include <cstdio>

#include "scripts/bench/native/card.h"
#include "scripts/bench/native/chain_model.h"
#include "scripts/bench/native/options.h"
#include "scripts/bench/native/plain_read.h"
#include "scripts/bench/native/replay.h"
#include "scripts/bench/native/report.h"

namespace octavo::bench {

namespace {

const CodedFormat kW4 = {CodeType::kU4, DType::kBF16, 1, 128, {}};
const CodedFormat kFp8 = {CodeType::kE4M3, DType::kF32, 1, 0, {ActivationScaling::kToken, 0, 0}};
const CodedFormat kFp8Blocks = {CodeType::kE4M3, DType::kF32, 128, 128, {ActivationScaling::kGroup, 128, 0}};

/** Those of one format side by side. */
std::vector<ChainCase> chainCases() {
  return {
      {"8B bf16, products", 1, nullptr, 0},
      {"8B bf16, context 256", 1, nullptr, 256},
      {"8B bf16, context 256, 2 sequences", 2, nullptr, 256},
      {"8B bf16, context 256, 4 sequences", 4, nullptr, 256},
      {"8B FP8 channel/token, products", 1, &kFp8, 0},
      {"8B FP8 channel/token, context 256", 1, &kFp8, 256},
      {"8B FP8 channel/token, context 256, 4 sequences", 4, &kFp8, 256},
      {"8B W4A16, products", 1, &kW4, 0},
      {"8B W4A16, context 256", 1, &kW4, 256},
      {"8B W4A16, context 256, 4 sequences", 4, &kW4, 256},
      {"8B FP8 blocks, context 256", 1, &kFp8Blocks, 256},
  };
}

/** The weights of the last case, for the next one of its format. */
class LastWeights {
 public:
  const ChainWeights& of(const CodedFormat* format, cudaStream_t stream) {
    if (weights_ && format == format_) return *weights_;
    weights_.reset();  // before the next ones are made: both may not fit
    weights_ = std::make_unique<ChainWeights>(format, stream);
    format_ = format;
    return *weights_;
  }

 private:
  const CodedFormat* format_ = nullptr;
  std::unique_ptr<ChainWeights> weights_;
};

bool run(const ChainCase& of, const ChainWeights& weights, const Card& card, PlainRead& read, cudaStream_t stream) {
  const ChainModel model(of, weights, stream);
  const ChainLaunch to{card.traits, stream};
  model.step(to);
  cuda::check(cudaStreamSynchronize(stream), of.name);
  Report report(of.name);
  const bool isRight = model.isFinite();
  if (isRight) {
    const double time = replayMicroseconds(1, [&](int) { model.step(to); }, stream);
    report.number("microseconds", time).number("bytes", static_cast<double>(weights.bytes()));
    report.number("value", 1e6 / time).text("unit", "steps/s");
    report.limit("plain read", 1e6 / read.microseconds(weights.bytes()));
  }
  report.print();
  return isRight;
}

int runChain(const Options& options) {
  const std::vector<ChainCase> cases = chainCases();
  if (options.list) {
    for (const ChainCase& of : cases) std::printf("%s\n", of.name);
    return 0;
  }
  const Card card = currentCard();
  Report::ofCard(card.name).print();
  cudaStream_t stream = nullptr;
  cuda::check(cudaStreamCreate(&stream), "cudaStreamCreate");
  PlainRead read(card.traits.multiprocessors, stream);
  LastWeights weights;
  bool isRight = true;
  for (const ChainCase& of : cases) {
    if (options.takes(of.name)) isRight = run(of, weights.of(of.format, stream), card, read, stream) && isRight;
  }
  cudaStreamDestroy(stream);
  return isRight ? 0 : 1;
}

}  // namespace

}  // namespace octavo::bench

int main(int count, char** arguments) {
  return octavo::bench::runBenchmark(count, arguments, octavo::bench::runChain);
}
