// How much of what happens to memory is written down.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace octavo {

struct TraceOptions {
  int level = 0;                    // 0 … 3, see MemoryTrace
  size_t ringEvents = 65536;        // 1 … kMostRingEvents, 96 bytes each; taken when the level first leaves 0
  uint64_t sampleBytes = 1 << 20;   // level 1: one allocation for every so many bytes allocated
  std::string spillPath;            // level 3: every event goes to this file as well; empty: none
  uint64_t spillBytes = 256 << 20;  // and it stops at so many bytes
};

constexpr int kMostTraceLevel = 3;
constexpr size_t kMostRingEvents = 1000000;
/** Distinct call stacks a trace keeps. */
constexpr uint32_t kTraceStacks = 16384;

/** Throws kInvalidArgument naming the first value out of range. */
void validateTrace(const TraceOptions& options);

}  // namespace octavo
