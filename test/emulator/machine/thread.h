// What the device code of the emulator stands on: the CUDA thread that runs, and how threads wait and meet. The threads
// of a launch are fibers of one thread of the process; one runs until it waits, so nothing here needs a lock.
#pragma once

#include <vector_types.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace octavo::emulator {

struct Block;
struct Warp;

struct Thread {
  uint3 index;
  Block* block = nullptr;
  Warp* warp = nullptr;
  int lane = 0;
  int number = 0;  // in the block

  std::shared_ptr<void> pending;  // what it has under way beside itself: asynchronous/pending.h

  // The machine's own.
  void* saved = nullptr;         // where it goes on
  uint8_t* stack = nullptr;      // null before it has begun
  const char* waitsFor = nullptr;
  bool (*ready)(const void*) = nullptr;
  const void* condition = nullptr;
  void* offered = nullptr;       // what it brought to a meeting
};

/** The CUDA thread that runs now; the machine's. */
extern Thread* running;
inline Thread& self() { return *running; }

/** Ends the launch as failed, with these words and the place of the thread that runs. */
[[noreturn]] void fault(const std::string& words);

// Of warps and warpgroups, without types; use meet and meetGroup.
using Meet = void (*)(void* const* offered, void* act);
void meetLanes(uint32_t mask, void* mine, Meet run, void* act);
void meetThreads(void* mine, Meet run, void* act);
void suspendUntil(const char* what, bool (*ready)(const void*), const void* condition);

template <class T, class Act, size_t kCount>
void runMeeting(void* const* offered, void* act) {
  std::array<T*, kCount> all;
  for (size_t i = 0; i < kCount; ++i) all[i] = static_cast<T*>(offered[i]);
  (*static_cast<Act*>(act))(all);
}

/** Others run until ready(), which must not change anything. `what` names the wait in the report of a deadlock. */
template <class Ready>
void waitUntil(const char* what, Ready ready) {
  if (ready()) return;
  suspendUntil(what, [](const void* condition) { return static_cast<bool>((*static_cast<const Ready*>(condition))()); },
               &ready);
}

/** The lanes of `mask` meet; the last one runs act(std::array<T*, 32>&) once, absent lanes null; then all go on. */
template <class T, class Act>
void meet(uint32_t mask, T& mine, Act act) {
  meetLanes(mask, &mine, runMeeting<T, Act, 32>, &act);
}

/** The 128 threads of the warpgroup meet: act(std::array<T*, 128>&). */
template <class T, class Act>
void meetGroup(T& mine, Act act) {
  meetThreads(&mine, runMeeting<T, Act, 128>, &act);
}

/**
 * bar.sync and, where it does not wait, bar.arrive of `threads` threads; 0 threads are all that still live, as
 * __syncthreads has it.
 */
void namedBarrier(int id, int threads, bool wait);

/** __syncthreads, and how many threads came with a value other than zero. */
int countBarrier(int value);

/** All threads of the cluster have arrived (barrier.cluster.arrive); waits for it too where `wait`. */
void clusterArrive();
void clusterWait();

/** Of the cluster of the thread that runs. */
int clusterRank();
int clusterBlocks();

/** Offset of `p` in the block's shared memory, below 288 KiB; of another block of the cluster, addressInBlock of it. */
uint32_t sharedAddress(const void* p);
/** `address` of the block of that rank, as mapa gives it: the rank plus one stands in the highest byte. */
uint32_t addressInBlock(uint32_t address, int rank);
/** Back to a pointer. Faults outside of the shared memory of the launch. */
uint8_t* sharedPointer(uint32_t address);

/**
 * Work that happens beside the threads (copies of the TMA, bulk copies): at a moment of the machine's choice, at the
 * latest when nothing else can go on or the block ends. It must not use self() nor wait.
 */
void later(const char* what, std::function<void()> work);

}  // namespace octavo::emulator

// The variables of device code; the machine sets them for the thread that goes on.
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
