// How threads wait and meet.
#include "machine/machine.h"

namespace octavo::emulator {

void fault(const std::string& words) { machine().fail(words); }

void suspendUntil(const char* what, bool (*ready)(const void*), const void* condition) {
  Thread& me = self();
  me.waitsFor = what;
  me.ready = ready;
  me.condition = condition;
  me.warp->polling |= 1u << me.lane;
  machine().leave();
}

namespace {

// On the card, too, lanes that have ended are not waited for.
Meeting& meetingOf(Warp& warp, uint32_t mask, Meet run, void* act) {
  for (Meeting& meeting : warp.meetings) {
    if (meeting.mask == mask) return meeting;
  }
  warp.meetings.push_back({mask, 0, run, act});
  return warp.meetings.back();
}

}  // namespace

void meetLanes(uint32_t mask, void* mine, Meet run, void* act) {
  Thread& me = self();
  Warp& warp = *me.warp;
  const uint32_t lane = 1u << me.lane;
  if (!(mask & lane)) fault("a lane calls an instruction of a warp whose mask it is not in");
  Meeting& meeting = meetingOf(warp, mask, run, act);
  if (meeting.run != run) fault("lanes of a warp meet at different instructions");
  meeting.arrived |= lane;
  me.offered = mine;
  if (meeting.arrived != (mask & warp.live)) {
    me.waitsFor = "the other lanes of its warp";
    machine().leave();
    return;
  }
  void* offered[kLanes];
  for (int i = 0; i < kLanes; ++i) offered[i] = meeting.arrived >> i & 1 ? warp.threads[i].offered : nullptr;
  const uint32_t others = meeting.arrived & ~lane;
  std::swap(meeting, warp.meetings.back());
  warp.meetings.pop_back();
  run(offered, act);
  warp.runnable |= others;
}

void meetThreads(void* mine, Meet run, void* act) {
  Thread& me = self();
  Block& block = *me.block;
  const int group = me.number / kGroupThreads;
  GroupMeeting& meeting = block.groups[group];
  if ((group + 1) * kGroupThreads > block.threads) fault("a warpgroup instruction in a block without 128 threads there");
  if (meeting.arrived && meeting.run != run) fault("warps of a warpgroup meet at different instructions");
  meeting.run = run;
  meeting.offered[me.number % kGroupThreads] = mine;
  if (++meeting.arrived < kGroupThreads) {
    me.waitsFor = "the other warps of its warpgroup";
    machine().leave();
    return;
  }
  meeting.arrived = 0;
  run(meeting.offered, act);
  for (int w = group * 4; w < group * 4 + 4; ++w) block.warps[w].runnable = ~0u;
  me.warp->runnable &= ~(1u << me.lane);
}

namespace {

// Whether the thread must wait; the last one of those expected need not.
void comeTo(int id, int threads, bool wait, int value) {
  static constexpr const char* kNames[kNamedBarriers] = {
      "named barrier 0",  "named barrier 1",  "named barrier 2",  "named barrier 3", "named barrier 4",  "named barrier 5",
      "named barrier 6",  "named barrier 7",  "named barrier 8",  "named barrier 9", "named barrier 10", "named barrier 11",
      "named barrier 12", "named barrier 13", "named barrier 14", "named barrier 15"};
  Thread& me = self();
  Block& block = *me.block;
  if (id < 0 || id >= kNamedBarriers) fault("there is no named barrier " + std::to_string(id));
  if (threads % kLanes) fault("a named barrier of " + std::to_string(threads) + " threads, no multiple of 32");
  Barrier& barrier = block.barriers[id];
  if (barrier.arrived && barrier.expected != threads) {
    fault("threads come to named barrier " + std::to_string(id) + " expecting " + std::to_string(barrier.expected) +
          " and " + std::to_string(threads) + " threads");
  }
  barrier.expected = threads;
  barrier.counting += value != 0;
  if (++barrier.arrived == (threads ? threads : block.live)) {
    machine().releaseBarrier(block, barrier);
  } else if (wait) {
    barrier.waiting[me.warp->index] |= 1u << me.lane;
    me.waitsFor = kNames[id];
    machine().leave();
  }
}

}  // namespace

void namedBarrier(int id, int threads, bool wait) { comeTo(id, threads, wait, 0); }

int countBarrier(int value) {
  comeTo(0, 0, true, value);
  return self().block->barriers[0].counted;
}

void clusterArrive() {
  Thread& me = self();
  Cluster& cluster = *me.block->cluster;
  me.block->clusterPhases[static_cast<size_t>(me.number)] = cluster.phase;
  if (++cluster.arrived < cluster.threads) return;
  cluster.arrived = 0;
  ++cluster.phase;
}

void clusterWait() {
  const Cluster* cluster = self().block->cluster;
  const uint64_t mine = self().block->clusterPhases[static_cast<size_t>(self().number)];
  waitUntil("the other blocks of its cluster", [=] { return cluster->phase > mine; });
}

int clusterRank() { return self().block->rank; }
int clusterBlocks() { return self().block->cluster->blocks; }

uint32_t sharedAddress(const void* p) {
  const auto* at = static_cast<const uint8_t*>(p);
  const Block& mine = *self().block;
  if (at >= mine.window.base() && at < mine.window.base() + kWindowBytes) {
    return static_cast<uint32_t>(at - mine.window.base());
  }
  for (const Block* block : mine.cluster->members) {
    if (at >= block->window.base() && at < block->window.base() + kWindowBytes) {
      return addressInBlock(static_cast<uint32_t>(at - block->window.base()), block->rank);
    }
  }
  fault("the shared address is asked for of a pointer elsewhere");
}

uint32_t addressInBlock(uint32_t address, int rank) {
  if (rank < 0 || rank >= clusterBlocks()) fault("there is no block " + std::to_string(rank) + " in the cluster");
  return (address & 0xffffffu) | static_cast<uint32_t>(rank + 1) << 24;
}

uint8_t* sharedPointer(uint32_t address) {
  const Block* block = self().block;
  const uint32_t rank = address >> 24, offset = address & 0xffffffu;
  if (rank > static_cast<uint32_t>(block->cluster->blocks) || offset >= kWindowBytes) {
    char text[64];
    std::snprintf(text, sizeof(text), "there is no shared memory at 0x%08x", address);
    fault(text);
  }
  if (rank) block = block->cluster->members[rank - 1];
  return block->window.base() + offset;
}

void* sharedVariable(SharedPlace& place, uint32_t bytes, uint32_t alignment) {
  return machine().variable(place, bytes, alignment);
}

void* dynamicShared() { return self().block->window.base() + kDynamicOffset; }

void later(const char* what, std::function<void()> work) { machine().later(what, std::move(work)); }

}  // namespace octavo::emulator
