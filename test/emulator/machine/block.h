// A block of a launch and its warps: who can run, who waits for whom.
#pragma once

#include <memory>
#include <vector>

#include "machine/shared_memory.h"
#include "machine/thread.h"

namespace octavo::emulator {

constexpr int kLanes = 32, kMostWarps = 32, kNamedBarriers = 16, kGroupThreads = 128;

/** Lanes that have come to a meeting of `mask`. */
struct Meeting {
  uint32_t mask = 0, arrived = 0;
  Meet run = nullptr;
  void* act = nullptr;
};

struct Warp {
  Block* block = nullptr;
  int index = 0;
  uint32_t live = 0, runnable = 0, polling = 0;  // lanes
  std::vector<Meeting> meetings;
  Thread threads[kLanes];
};

struct Barrier {
  int arrived = 0, expected = 0;  // 0 expected: all that live
  int counting = 0, counted = 0;  // threads with a value, of this phase and of the last one
  uint32_t waiting[kMostWarps] = {};
};

struct GroupMeeting {
  int arrived = 0;
  Meet run = nullptr;
  void* offered[kGroupThreads] = {};
};

struct Cluster {
  int blocks = 0, threads = 0;  // that live
  int arrived = 0;
  uint64_t phase = 0;
  std::vector<Block*> members;
};

struct Block {
  uint3 index{};
  int rank = 0;  // in its cluster
  Cluster* cluster = nullptr;
  int threads = 0, live = 0, warpCount = 0;
  Warp warps[kMostWarps];
  Barrier barriers[kNamedBarriers];
  GroupMeeting groups[kMostWarps / 4];
  std::vector<uint64_t> clusterPhases;  // of each thread: the phase it arrived in
  SharedWindow window;

  /** All threads of a block of that size are about to begin. */
  void begin(uint3 at, dim3 size, uint32_t dynamicBytes);
};

}  // namespace octavo::emulator
