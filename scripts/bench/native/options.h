// What both programs take on their command line.
#pragma once

#include <string>
#include <vector>

namespace octavo::bench {

/** `[--list] [--other-forms] [--only TEXT]…` */
struct Options {
  bool list = false;
  bool otherForms = false;        // decodes over latents once more, in the form that is not the default
  std::vector<std::string> only;  // a case runs when its name contains one of these; none: all run

  bool takes(const std::string& name) const {
    if (only.empty()) return true;
    for (const std::string& text : only) {
      if (name.find(text) != std::string::npos) return true;
    }
    return false;
  }
};

/**
 * Parses the command line and gives it to `body`, whose value is the exit status. An error becomes its sentence on
 * stderr: status 2 for a command line that is not understood, 1 for anything thrown.
 */
int runBenchmark(int count, char** arguments, int (*body)(const Options&));

}  // namespace octavo::bench
