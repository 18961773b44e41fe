// octavo-bench-gemm: linear layers as the engine calls them, one JSON object a case on stdout.
#include <cstdio>
#include <string>

#include "scripts/bench/native/card.h"
#include "scripts/bench/native/gemm_operands.h"
#include "scripts/bench/native/options.h"
#include "scripts/bench/native/plain_read.h"
#include "scripts/bench/native/replay.h"
#include "scripts/bench/native/report.h"

namespace octavo::bench {

namespace {

void addFigures(Report& report, const GemmCase& of, double time, size_t bytes, const Card& card, PlainRead& read) {
  report.number("microseconds", time).number("bytes", static_cast<double>(bytes)).number("flops", of.flops());
  switch (of.figure) {
    case GemmFigure::kRate:
      report.number("value", of.flops() / time * 1e-6).text("unit", "TFLOP/s");
      report.limit(card.limitName(), of.tensorShare() * card.tensorFlops * 1e-12);
      return;
    case GemmFigure::kTime:
      report.number("value", time).text("unit", "µs").limit("plain read", read.microseconds(bytes));
      return;
    case GemmFigure::kReadShare:
      report.number("value", read.microseconds(bytes) / time * 100).text("unit", "% of read");
      report.limit("plain read", 100);
      return;
  }
}

/** False where the result is wrong: then nothing is timed. */
bool run(const GemmCase& of, const Card& card, PlainRead& read, cudaStream_t stream) {
  const cuda::DeviceTraits traits = of.forcesAmpere ? ampereTraits(card) : card.traits;
  GemmOperands operands(of, stream);
  operands.prepare(traits, stream);
  const GemmWeight& weight = operands.weight();
  const auto launch = [&](int turn) { weight.launch(operands.out(), operands.x(), turn, traits, stream); };
  const int last = weight.count() - 1;
  launch(last);
  cuda::check(cudaStreamSynchronize(stream), of.name.c_str());
  Report report(of.name);
  const double error = operands.error(last);
  report.number("error", error).number("tolerance", kGemmTolerance);
  const bool isRight = error <= kGemmTolerance;
  if (isRight) addFigures(report, of, replayMicroseconds(weight.count(), launch, stream), weight.bytes(), card, read);
  report.print();
  return isRight;
}

int runGemm(const Options& options) {
  const std::vector<GemmCase> cases = gemmCases();
  if (options.list) {
    for (const GemmCase& of : cases) std::printf("%s\n", of.name.c_str());
    return 0;
  }
  const Card card = currentCard();
  Report::ofCard(card.name).print();
  cudaStream_t stream = nullptr;
  cuda::check(cudaStreamCreate(&stream), "cudaStreamCreate");
  PlainRead read(card.traits.multiprocessors, stream);
  bool isRight = true;
  for (const GemmCase& of : cases) {
    if (options.takes(of.name)) isRight = run(of, card, read, stream) && isRight;
  }
  cudaStreamDestroy(stream);
  return isRight ? 0 : 1;
}

}  // namespace

}  // namespace octavo::bench

int main(int count, char** arguments) {
  return octavo::bench::runBenchmark(count, arguments, octavo::bench::runGemm);
}
