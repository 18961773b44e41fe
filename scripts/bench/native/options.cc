#include "scripts/bench/native/options.h"

#include <cstdio>
#include <exception>
#include <optional>

namespace octavo::bench {

namespace {

std::optional<Options> parse(int count, char** arguments) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    if (argument == "--list") options.list = true;
    else if (argument == "--other-forms") options.otherForms = true;
    else if (argument == "--only" && i + 1 < count) options.only.push_back(arguments[++i]);
    else return std::nullopt;
  }
  return options;
}

}  // namespace

int runBenchmark(int count, char** arguments, int (*body)(const Options&)) {
  const std::optional<Options> options = parse(count, arguments);
  if (!options) {
    std::fprintf(stderr, "usage: %s [--list] [--other-forms] [--only TEXT]...\n", arguments[0]);
    return 2;
  }
  try {
    return body(*options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", arguments[0], error.what());
    return 1;
  }
}

}  // namespace octavo::bench
