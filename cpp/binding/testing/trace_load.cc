#include "binding/testing/trace_load.h"

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace octavo::testing {

namespace {

constexpr Region kRegion = Region::kWorkspace;
constexpr size_t kBytes = 4096;

const void* addressOf(int thread, int round) {
  return reinterpret_cast<const void*>((uintptr_t{1} + static_cast<uintptr_t>(thread)) << 40 |
                                       static_cast<uintptr_t>(round) * kBytes);
}

void recordPair(MemoryTrace& trace, int thread, int round) {
  const Owner owner{OwnerKind::kSession, static_cast<uint64_t>(thread)};
  const void* const address = addressOf(thread, round);
  trace.allocated(kRegion, address, kBytes, owner, "hammer");
  trace.freeCompleted(kRegion, address, kBytes, owner, "hammer");
}

/** As deep as a real allocation's caller. */
[[gnu::noinline]] void atDepth(int depth, MemoryTrace& trace, int round) {
  if (depth == 0) {
    recordPair(trace, 0, round);
  } else {
    atDepth(depth - 1, trace, round);
  }
  // Work after the call: it must not become a jump, which would take the frame away.
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

}  // namespace

void hammerTrace(MemoryTrace& trace, int threads, int rounds, bool switchLevels) {
  std::vector<std::thread> recorders;
  std::atomic<int> running{threads};
  for (int thread = 0; thread < threads; ++thread) {
    recorders.emplace_back([&, thread] {
      for (int round = 0; round < rounds; ++round) recordPair(trace, thread, round % 64);
      --running;
    });
  }
  for (int level = 0; switchLevels && running > 0; ++level) {
    trace.setLevel(level % (kMostTraceLevel + 1));
    trace.snapshot();
  }
  for (std::thread& recorder : recorders) recorder.join();
}

double measureTrace(MemoryTrace& trace, int events) {
  using Clock = std::chrono::steady_clock;
  const auto started = Clock::now();
  for (int event = 0; event < events; event += 2) atDepth(kStackFrames, trace, event % 1024);
  const std::chrono::duration<double, std::nano> spent = Clock::now() - started;
  return spent.count() / events;
}

}  // namespace octavo::testing
