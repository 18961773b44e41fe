// Runs the blocks of a launch: a few at a time, as many as the multiprocessors would hold, to the end.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "machine/block.h"
#include "machine/random.h"
#include "machine/stacks.h"

namespace octavo::emulator {

constexpr int kMultiprocessors = 4;
constexpr int kThreadsPerMultiprocessor = 2048, kSharedPerMultiprocessor = 228 << 10;

struct Launch {
  const char* kernel = "";
  dim3 grid{1, 1, 1}, block{1, 1, 1}, cluster{1, 1, 1};
  uint32_t dynamicBytes = 0;
  void (*body)(const void* arguments) = nullptr;
  const void* arguments = nullptr;
};

/** Whether a card could hold its blocks at all. */
bool canLaunch(const Launch& launch);

/** Runs it to its end. What went wrong, empty when nothing did. One launch at a time, whichever thread calls. */
std::string run(const Launch& launch);

/** Of the order in which warps go on and copies arrive, from the next launch on; OCTAVO_EMULATED_SEED at first. */
void setSeed(uint64_t seed);

/** What work beside the threads ends with when it fails. */
struct Fault {
  std::string words;
};

class Machine {
 public:
  std::string run(const Launch& launch);

  // Of the thread that runs.
  void leave();                    // the thread cannot go on: another one does
  [[noreturn]] void fail(const std::string& words);
  void recordFailure(const std::string& words);  // with the place of the thread that runs
  void later(const char* what, std::function<void()> work);
  void* variable(SharedPlace& place, uint32_t bytes, uint32_t alignment);
  void releaseBarrier(Block& block, Barrier& barrier);

  void* scheduler() const { return scheduler_; }
  uint64_t steps() const { return steps_; }  // of warps

  uint64_t seed = 0;

 private:
  struct Work {
    const char* what;
    Block* block;
    std::function<void()> run;
  };

  static void enter();
  void runThreads();
  void finish(Thread& thread);
  void resume(Thread& next, void** saved);
  Thread* takeRunnable(Warp& warp);
  void begin(const Launch& launch);
  bool startClusters();
  void startCluster();
  void roundOf(Block& block);
  bool step(Warp& warp);
  bool doWork(bool any);
  void doPiece(size_t index);
  void doWorkOf(const Block& block);
  void retire();
  std::string describeWaits() const;
  void abandon();

  const Launch* launch_ = nullptr;
  uint64_t launches_ = 0, steps_ = 0;
  Random random_{0};
  Stacks stacks_;
  std::vector<std::unique_ptr<Block>> pool_;
  std::vector<std::unique_ptr<Cluster>> clusters_;
  std::vector<Block*> live_, free_;
  std::vector<Work> work_;
  std::string failure_;
  void* scheduler_ = nullptr;
  uint32_t staticBytes_ = 0;
  uint64_t nextCluster_ = 0, clusterCount_ = 0;
  int mostBlocks_ = 0;
  bool progress_ = false;
};

Machine& machine();

}  // namespace octavo::emulator
