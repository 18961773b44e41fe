// octavo-bench-host: microseconds of the host a step, by stage, without a card and without a driver.
//   octavo-bench-host [--step-us N] [--windows N] [--only TEXT]…
// A step takes the device N µs (300), during which it neither computes nor writes. Calls of the device are counted, not
// timed: what a driver takes for them comes on top of these figures, and what a caller takes of the processor.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "scripts/bench/native/host/case.h"

namespace octavo::bench {

namespace {

struct Options {
  int64_t stepMicroseconds = 300;
  int32_t windows = 11;
  std::vector<std::string> only;
};

bool parse(int count, char** arguments, Options& options) {
  for (int index = 1; index < count; ++index) {
    if (index + 1 == count) return false;
    const char* const value = arguments[++index];
    if (!std::strcmp(arguments[index - 1], "--step-us")) options.stepMicroseconds = std::atoll(value);
    else if (!std::strcmp(arguments[index - 1], "--windows")) options.windows = std::max(1, std::atoi(value));
    else if (!std::strcmp(arguments[index - 1], "--only")) options.only.emplace_back(value);
    else return false;
  }
  return true;
}

bool isAsked(const std::string& name, const Options& options) {
  for (const std::string& text : options.only) {
    if (name.find(text) != std::string::npos) return true;
  }
  return options.only.empty();
}

void print(const std::string& name, const HostResult& result) {
  double sum = 0;
  std::printf("%-28s", name.c_str());
  for (size_t stage = 0; stage < kHostStages.size(); ++stage) {
    std::printf(" %6.1f (%6.1f)", result.median[stage], result.least[stage]);
    if (stage + 1 < kHostStages.size()) sum += result.median[stage];
  }
  std::printf(" | %6.1f | %5.1f %4.1f %4.1f %4.1f %4.1f %5.2f %5.2f\n", sum, result.ops, result.copies, result.replays,
              result.records, result.waits, result.maps, result.wakes);
  std::fflush(stdout);
}

void runAll(const Options& options) {
  std::printf("%-28s", "us a step, median (least)");
  for (const char* const stage : kHostStages) std::printf(" %15s", stage);
  std::printf(" | %6s | %5s %4s %4s %4s %4s %5s %5s\n", "- tell", "ops", "copy", "play", "rec", "wait", "maps",
              "wakes");
  for (const bool overlap : {false, true}) {
    for (const bool graphs : {false, true}) {
      for (const int32_t batch : {1, 64, 256}) {
        HostCase each;
        each.batch = batch;
        each.graphs = graphs;
        each.overlap = overlap;
        each.windows = options.windows;
        each.stepNanoseconds = options.stepMicroseconds * 1000;
        if (isAsked(each.name(), options)) print(each.name(), runHostCase(each));
      }
    }
  }
}

}  // namespace

}  // namespace octavo::bench

int main(int count, char** arguments) {
  octavo::bench::Options options;
  if (!octavo::bench::parse(count, arguments, options)) {
    std::fprintf(stderr, "usage: octavo-bench-host [--step-us N] [--windows N] [--only TEXT]...\n");
    return 2;
  }
  try {
    octavo::bench::runAll(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "octavo-bench-host: %s\n", error.what());
    return 1;
  }
  return 0;
}
