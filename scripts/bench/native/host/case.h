// One case: an engine of one kind, so many sequences that decode, and what a step of theirs takes the host.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace octavo::bench {

struct HostCase {
  int32_t batch = 1;
  bool graphs = false, overlap = false;
  int32_t input = 128;
  int32_t windows = 11, windowSteps = 128;  // that are measured, one after the other
  int64_t stepNanoseconds = 0;              // the device's
  std::string name() const;
  /** The first ones decode while the others' prompts are computed: that must not be their end. */
  int32_t output() const { return (windows + 3) * windowSteps; }
};

/** What the engine's thread does itself; callers are woken in the last. */
constexpr std::array<const char*, 5> kHostStages = {"plan", "upload", "launch", "book", "tell"};
using HostStages = std::array<double, kHostStages.size()>;

struct HostResult {
  HostStages median = {}, least = {};  // over the windows, in microseconds a step
  /** Over all windows, a step: calls of the device (ops, copies, replays, events), and of the caller. */
  double ops = 0, copies = 0, replays = 0, records = 0, waits = 0, maps = 0, wakes = 0;
};

HostResult runHostCase(const HostCase& of);

}  // namespace octavo::bench
