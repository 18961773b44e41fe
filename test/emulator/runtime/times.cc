#include "runtime/times.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace octavo::emulator {

namespace {

struct Total {
  double seconds = 0;
  uint64_t launches = 0;
};

struct Times {
  std::mutex mutex;
  std::map<std::string, Total> totals;

  void print() {
    std::vector<std::pair<std::string, Total>> all(totals.begin(), totals.end());
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.second.seconds > b.second.seconds; });
    for (const auto& [kernel, total] : all) {
      std::fprintf(stderr, "%10.3f s %8llu launches  %s\n", total.seconds,
                   static_cast<unsigned long long>(total.launches), kernel.c_str());
    }
  }
};

Times* times() {
  static Times* const made = [] {
    if (!std::getenv("OCTAVO_EMULATED_TIMES")) return static_cast<Times*>(nullptr);
    static Times* all = new Times;
    std::atexit([] { all->print(); });
    return all;
  }();
  return made;
}

double now() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace

Timed::Timed(const char* kernel) : kernel_(kernel) {
  if (times()) since_ = now();
}

Timed::~Timed() {
  if (!times()) return;
  const double seconds = now() - since_;
  std::lock_guard lock(times()->mutex);
  Total& total = times()->totals[kernel_];
  total.seconds += seconds;
  ++total.launches;
}

}  // namespace octavo::emulator
