// One JSON object a line on stdout: what the wrappers in scripts/bench read.
#pragma once

#include <cmath>
#include <cstdio>
#include <string>

namespace octavo::bench {

class Report {
 public:
  /** Of one case. */
  explicit Report(const std::string& name) { text("case", name); }
  /** The first line: which card. */
  static Report ofCard(const std::string& name) {
    Report report(Empty{});
    report.text("card", name);
    return report;
  }

  Report& text(const char* name, const std::string& value) {
    begin(name);
    line_ += '"' + value + '"';
    return *this;
  }
  Report& number(const char* name, double value) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.9g", value);
    begin(name);
    line_ += std::isfinite(value) ? digits : "null";  // JSON has no NaN
    return *this;
  }
  Report& limit(const std::string& name, double value) {
    begin("limit");
    Report inner(Empty{});
    inner.text("name", name).number("value", value);
    line_ += inner.line_ + '}';
    return *this;
  }
  void print() const {
    std::printf("%s}\n", line_.c_str());
    std::fflush(stdout);
  }

 private:
  struct Empty {};
  explicit Report(Empty) {}

  void begin(const char* name) { line_ += (line_.size() > 1 ? ",\"" : "\"") + std::string(name) + "\":"; }

  std::string line_ = "{";
};

}  // namespace octavo::bench
