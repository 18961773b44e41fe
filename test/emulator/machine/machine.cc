#include "machine/machine.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace octavo::emulator {

Thread* running = nullptr;

Machine& machine() {
  static Machine* const made = [] {
    auto* all = new Machine;  // never destroyed: threads of the process may outlive statics
    const char* seed = std::getenv("OCTAVO_EMULATED_SEED");
    all->seed = seed ? std::strtoull(seed, nullptr, 10) : 1;
    return all;
  }();
  return *made;
}

void setSeed(uint64_t seed) { machine().seed = seed; }

std::string run(const Launch& launch) {
  static std::mutex one;
  std::lock_guard<std::mutex> lock(one);
  return machine().run(launch);
}

// ---- threads -------------------------------------------------------------------------------------------------

Thread* Machine::takeRunnable(Warp& warp) {
  if (!warp.runnable) return nullptr;
  const int lane = std::countr_zero(warp.runnable);
  warp.runnable &= warp.runnable - 1;
  return &warp.threads[lane];
}

void Machine::resume(Thread& next, void** saved) {
  running = &next;
  threadIdx = next.index;
  blockIdx = next.block->index;
  if (!next.stack) {
    next.stack = stacks_.take();
    next.saved = prepareStack(next.stack, enter);
  }
  octavoSwitchStacks(saved, next.saved);
}

void Machine::leave() {
  Thread& me = *running;
  if (Thread* next = takeRunnable(*me.warp)) {
    if (next == &me) return;
    resume(*next, &me.saved);
  } else {
    octavoSwitchStacks(&me.saved, scheduler_);
  }
}

void Machine::enter() { machine().runThreads(); }

// A thread that has ended leaves its stack to the next one of its warp that has not begun.
void Machine::runThreads() {
  void* left = nullptr;
  for (;;) {
    launch_->body(launch_->arguments);
    Thread& me = *running;
    finish(me);
    Thread* next = takeRunnable(*me.warp);
    if (next && !next->stack) {
      next->stack = me.stack;
      running = next;
      threadIdx = next->index;
      continue;
    }
    stacks_.giveBack(me.stack);
    if (next) resume(*next, &left);
    else octavoSwitchStacks(&left, scheduler_);
  }
}

/** Who waited only for this thread goes on. */
void Machine::finish(Thread& thread) {
  Warp& warp = *thread.warp;
  Block& block = *thread.block;
  warp.live &= ~(1u << thread.lane);
  --block.live;
  --block.cluster->threads;
  for (size_t i = 0; i < warp.meetings.size();) {
    Meeting& meeting = warp.meetings[i];
    if ((meeting.mask & warp.live) != meeting.arrived) {
      ++i;
      continue;
    }
    void* offered[kLanes] = {};
    for (int lane = 0; lane < kLanes; ++lane) {
      if (meeting.arrived >> lane & 1) offered[lane] = warp.threads[lane].offered;
    }
    const Meeting done = meeting;
    warp.meetings.erase(warp.meetings.begin() + static_cast<long>(i));
    done.run(offered, done.act);
    warp.runnable |= done.arrived;
  }
  for (Barrier& barrier : block.barriers) {
    if (barrier.arrived && !barrier.expected && barrier.arrived == block.live) releaseBarrier(block, barrier);
  }
  Cluster& cluster = *block.cluster;
  if (cluster.arrived && cluster.arrived == cluster.threads) {
    cluster.arrived = 0;
    ++cluster.phase;
  }
}

void Machine::releaseBarrier(Block& block, Barrier& barrier) {
  for (int w = 0; w < block.warpCount; ++w) {
    block.warps[w].runnable |= barrier.waiting[w];
    barrier.waiting[w] = 0;
  }
  barrier.arrived = 0;
  barrier.expected = 0;
  barrier.counted = barrier.counting;
  barrier.counting = 0;
}

void Machine::recordFailure(const std::string& words) {
  auto place = [](uint3 at) {
    return "(" + std::to_string(at.x) + ", " + std::to_string(at.y) + ", " + std::to_string(at.z) + ")";
  };
  failure_ = words;
  if (running) failure_ += "\n  in thread " + place(running->index) + " of block " + place(running->block->index);
}

// Work beside the threads runs on the scheduler's stack, which an exception may unwind.
void Machine::fail(const std::string& words) {
  if (!running) throw Fault{words};
  recordFailure(words);
  void* left = nullptr;
  octavoSwitchStacks(&left, scheduler_);
  std::abort();  // no one goes on with a thread that has failed
}

void Machine::later(const char* what, std::function<void()> work) {
  work_.push_back({what, running->block, std::move(work)});
}

void* Machine::variable(SharedPlace& place, uint32_t bytes, uint32_t alignment) {
  if (place.launch != launches_) {
    const uint32_t offset = (kStaticOffset + staticBytes_ + alignment - 1) / alignment * alignment;
    if (offset + bytes > kWindowBytes) {
      fail("there is no room for another __shared__ variable of " + std::to_string(bytes) + " bytes");
    }
    staticBytes_ = offset + bytes - kStaticOffset;
    place = {launches_, offset};
  }
  return running->block->window.base() + place.offset;
}

}  // namespace octavo::emulator
