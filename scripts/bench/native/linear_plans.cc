// octavo-bench-linear-plans [--list] [--only TEXT]…: every plan of a dense product that is predicted to be near the best,
// checked and timed, one JSON object each on stdout: what linear_plan.cc is held to. Cases are named
// `bf16 4096x6144, M=64`, K × N.
#include <cstdio>
#include <string>
#include <vector>

#include "cuda/gemm/linear_plan.h"
#include "scripts/bench/native/card.h"
#include "scripts/bench/native/gemm_operands.h"
#include "scripts/bench/native/options.h"
#include "scripts/bench/native/plain_read.h"
#include "scripts/bench/native/replay.h"
#include "scripts/bench/native/report.h"

namespace octavo::bench {

namespace {

constexpr int64_t kLayers[][2] = {{8192, 8192}, {6144, 4096}, {4096, 4096}, {28672, 4096}, {4096, 14336}};  // N, K
constexpr int64_t kRows[] = {32, 64, 128, 256, 512, 1024};
constexpr double kNear = 1.35;  // times the best prediction: what is timed

std::string nameOf(int64_t rows, int64_t columns, int64_t depth) {
  return "bf16 " + std::to_string(depth) + "x" + std::to_string(columns) + ", M=" + std::to_string(rows);
}

std::string nameOf(const cuda::LinearPlan& plan) {
  const char* const shared = plan.sharing == TileSharing::kX        ? ", x shared"
                             : plan.sharing == TileSharing::kWeight ? ", weight shared"
                             : plan.sharing == TileSharing::kDepth  ? ", K divided"
                                                                          : "";
  return std::to_string(plan.rows) + " x " + std::to_string(plan.columns) + shared;
}

/** False where the result is wrong: then nothing is timed. */
bool run(const GemmCase& of, bool isChosen, const Card& card, PlainRead& read, cudaStream_t stream) {
  GemmOperands operands(of, stream);
  const GemmWeight& weight = operands.weight();
  const auto launch = [&](int turn) { weight.launch(operands.out(), operands.x(), turn, card.traits, stream); };
  launch(weight.count() - 1);
  cuda::check(cudaStreamSynchronize(stream), of.name.c_str());
  Report report(of.name);
  const double error = operands.error(weight.count() - 1);
  const bool isRight = error <= kGemmTolerance;
  report.text("plan", nameOf(*of.plan)).text("chosen", isChosen ? "yes" : "no").number("error", error);
  report.number("predicted", of.plan->clocks / (card.megahertz > 0 ? card.megahertz : 1));
  if (isRight) {
    report.number("microseconds", replayMicroseconds(weight.count(), launch, stream));
    report.number("read", read.microseconds(weight.bytes()));
  }
  report.print();
  return isRight;
}

bool runShape(GemmCase of, const Card& card, PlainRead& read, cudaStream_t stream) {
  const cuda::LinearShape shape{of.rows, of.columns, of.depth};
  const cuda::LinearPlan best = cuda::planLinear(shape, card.traits);
  bool isRight = true;
  for (const cuda::LinearPlan& plan : cuda::linearPlans(shape, card.traits)) {
    if (plan.clocks > kNear * best.clocks) continue;
    of.plan = plan;
    isRight = run(of, plan == best, card, read, stream) && isRight;
  }
  return isRight;
}

int runPlans(const Options& options) {
  std::vector<GemmCase> shapes;
  for (const auto& [columns, depth] : kLayers) {
    for (int64_t rows : kRows) {
      GemmCase of{nameOf(rows, columns, depth), GemmFigure::kTime, rows, columns, depth, {}};
      if (options.takes(of.name)) shapes.push_back(of);
    }
  }
  if (options.list) {
    for (const GemmCase& of : shapes) std::printf("%s\n", of.name.c_str());
    return 0;
  }
  const Card card = currentCard();
  Report::ofCard(card.name).print();
  cudaStream_t stream = nullptr;
  cuda::check(cudaStreamCreate(&stream), "cudaStreamCreate");
  PlainRead read(card.traits.multiprocessors, stream);
  bool isRight = true;
  for (const GemmCase& of : shapes) isRight = runShape(of, card, read, stream) && isRight;
  cudaStreamDestroy(stream);
  return isRight ? 0 : 1;
}

}  // namespace

}  // namespace octavo::bench

int main(int count, char** arguments) {
  return octavo::bench::runBenchmark(count, arguments, octavo::bench::runPlans);
}
