// octavo-bench-attention: paged attention as the engine calls it, one JSON object a case on stdout.
#include <cstdio>
#include <string>

#include "scripts/bench/native/attention_reference.h"
#include "scripts/bench/native/card.h"
#include "scripts/bench/native/latent_reference.h"
#include "scripts/bench/native/options.h"
#include "scripts/bench/native/plain_read.h"
#include "scripts/bench/native/replay.h"
#include "scripts/bench/native/report.h"

namespace octavo::bench {

namespace {

struct Measured {
  double microseconds = 0;
  double error = 0;  // relative to fp64, of sampled rows
};

Measured measure(const AttentionCase& of, const cuda::DeviceTraits& traits, cudaStream_t stream) {
  const PagedBatch batch(of, stream);
  const auto launch = [&](int layer) { cuda::launchPagedAttention(batch.attention(layer), traits, stream); };
  const int last = batch.layers() - 1;
  launch(last);
  cuda::check(cudaStreamSynchronize(stream), of.name.c_str());
  Measured measured;
  measured.error = attentionError(of, batch, last, stream);
  if (!(measured.error <= kAttentionTolerance)) return measured;
  measured.microseconds = replayMicroseconds(batch.layers(), launch, stream);
  return measured;
}

Measured measureLatents(const LatentCase& of, const cuda::DeviceTraits& traits, cudaStream_t stream) {
  const LatentBatch batch(of, stream);
  const auto launch = [&](int layer) {
    if (of.isPrompt) cuda::launchExpandedAttention(batch.prefill(), traits, stream);
    else cuda::launchLatentAttention(batch.decode(layer), traits, stream);
  };
  const int last = batch.layers() - 1;
  launch(last);
  cuda::check(cudaStreamSynchronize(stream), of.name.c_str());
  Measured measured;
  measured.error = latentError(of, batch, last, stream);
  if (!(measured.error <= kAttentionTolerance)) return measured;
  measured.microseconds = replayMicroseconds(batch.layers(), launch, stream);
  return measured;
}

class AttentionBench {
 public:
  AttentionBench(const Card& card, cudaStream_t stream)
      : card_(card), stream_(stream), read_(card.traits.multiprocessors, stream) {}

  /** False where the result is wrong: then nothing is timed. */
  bool run(const AttentionCase& of) {
    const cuda::DeviceTraits traits = of.forcesAmpere ? ampereTraits(card_) : card_.traits;
    Measured measured = measure(of, traits, stream_);
    double even = 0;
    if (of.figure == AttentionFigure::kAgainstEven && measured.microseconds > 0) {
      const Measured other = measure(evenCase(of), traits, stream_);
      even = other.microseconds;
      if (even == 0) measured = other;
    }
    Report report(of.name);
    report.number("error", measured.error).number("tolerance", kAttentionTolerance);
    const bool isRight = measured.microseconds > 0;
    if (isRight) addFigures(report, of, measured.microseconds, even);
    report.print();
    return isRight;
  }

  /** The same. */
  bool run(const LatentCase& of) {
    const Measured measured = measureLatents(of, card_.traits, stream_);
    Report report(of.name);
    report.number("error", measured.error).number("tolerance", kAttentionTolerance);
    const bool isRight = measured.microseconds > 0;
    if (isRight) addFigures(report, of, measured.microseconds, 0);
    report.print();
    return isRight;
  }

 private:
  template <typename Case>
  void addFigures(Report& report, const Case& of, double time, double even) {
    const double bytes = of.cacheBytes(), flops = of.flops();
    report.number("microseconds", time).number("bytes", bytes).number("flops", flops);
    const auto readTime = [&] { return read_.microseconds(static_cast<size_t>(bytes)); };
    switch (of.figure) {
      case AttentionFigure::kBandwidth:
        report.number("value", bytes / time * 1e-6).text("unit", "TB/s");
        report.limit("plain read", bytes / readTime() * 1e-6);
        return;
      case AttentionFigure::kReadTime:
        report.number("value", time).text("unit", "µs").limit("plain read", readTime());
        return;
      case AttentionFigure::kRate:
        report.number("value", flops / time * 1e-6).text("unit", "TFLOP/s");
        report.limit(card_.limitName(), card_.tensorFlops * 1e-12);
        return;
      case AttentionFigure::kProductTime:
        report.number("value", time).text("unit", "µs");
        report.limit(card_.limitName(), flops / card_.tensorFlops * 1e6);
        return;
      case AttentionFigure::kAgainstEven:
        report.number("value", time / even).text("unit", "×").number("evenMicroseconds", even);
        report.limit("the same bytes even", 1);
        return;
    }
  }

  Card card_;
  cudaStream_t stream_ = nullptr;
  PlainRead read_;
};

int runAttention(const Options& options) {
  const std::vector<AttentionCase> cases = attentionCases();
  const std::vector<LatentCase> latents = latentCases();
  if (options.list) {
    for (const AttentionCase& of : cases) std::printf("%s\n", of.name.c_str());
    for (const LatentCase& of : latents) std::printf("%s\n", of.name.c_str());
    return 0;
  }
  const Card card = currentCard();
  Report::ofCard(card.name).print();
  cudaStream_t stream = nullptr;
  cuda::check(cudaStreamCreate(&stream), "cudaStreamCreate");
  AttentionBench bench(card, stream);
  bool isRight = true;
  for (const AttentionCase& of : cases) {
    if (options.takes(of.name)) isRight = bench.run(of) && isRight;
  }
  for (const LatentCase& of : latents) {
    if (!options.takes(of.name)) continue;
    isRight = bench.run(of) && isRight;
    if (options.otherForms && !of.isPrompt) isRight = bench.run(otherFormOf(of)) && isRight;
  }
  cudaStreamDestroy(stream);
  return isRight ? 0 : 1;
}

}  // namespace

}  // namespace octavo::bench

int main(int count, char** arguments) {
  return octavo::bench::runBenchmark(count, arguments, octavo::bench::runAttention);
}
