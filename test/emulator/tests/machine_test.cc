// What the emulator's machine promises, tried by small kernels. A line a promise; ends with 1 when one is broken.
#include <cstdio>
#include <cstring>
#include <vector>

#include "machine/machine.h"

namespace octavo::emulator {
namespace {

int broken = 0;

void expect(const char* promise, bool kept) {
  std::printf("%s: %s\n", promise, kept ? "kept" : "BROKEN");
  if (!kept) ++broken;
}

template <class Body>
std::string launch(dim3 grid, dim3 block, Body body, dim3 cluster = {1, 1, 1}, uint32_t bytes = 4096) {
  Launch l;
  l.kernel = "kernel";
  l.grid = grid;
  l.block = block;
  l.cluster = cluster;
  l.dynamicBytes = bytes;
  l.body = [](const void* arguments) { (*static_cast<const Body*>(arguments))(); };
  l.arguments = &body;
  return run(l);
}

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

void everyThreadRuns() {
  std::vector<int> seen(6 * 70 * 2);
  const std::string failure = launch({3, 2, 1}, {35, 2, 2}, [&] {
    const unsigned block = blockIdx.x + gridDim.x * blockIdx.y;
    ++seen[block * 140 + threadIdx.x + 35 * (threadIdx.y + 2 * threadIdx.z)];
  });
  bool once = failure.empty();
  for (int count : seen) once = once && count == 1;
  expect("every thread of every block runs once", once);
}

void lanesMeet() {
  bool right = true;
  const std::string failure = launch({4, 1, 1}, {96, 1, 1}, [&] {
    const int lane = self().lane;
    if (lane >= 20) return;  // ended lanes are not waited for
    int mine = lane;
    const uint32_t half = lane < 10 ? 0x3ff : 0xffc00;
    meet(half, mine, [](std::array<int*, 32>& all) {
      int sum = 0;
      for (int* value : all) sum += value ? *value : 0;
      for (int* value : all) if (value) *value = sum;
    });
    right = right && mine == (lane < 10 ? 45 : 145);
    meet(0xffffffff, mine, [](std::array<int*, 32>& all) { for (int* v : all) if (v) *v += *all[0] - *all[0]; });
  });
  expect("lanes of a mask meet", failure.empty() && right);
}

void groupsMeet() {
  int acts = 0;
  bool right = true;
  const std::string failure = launch({2, 1, 1}, {256, 1, 1}, [&] {
    int mine = self().number;
    meetGroup(mine, [&](std::array<int*, 128>& all) {
      ++acts;
      for (int* value : all) *value = *all[127];
    });
    right = right && mine == (self().number < 128 ? 127 : 255);
  });
  expect("warpgroups meet", failure.empty() && right && acts == 4);
  expect("a warpgroup must be whole", contains(launch({1, 1, 1}, {96, 1, 1}, [] {
    int mine = 0;
    meetGroup(mine, [](std::array<int*, 128>&) {});
  }), "without 128 threads"));
}

void barriersHold() {
  bool right = true;
  const std::string failure = launch({2, 1, 1}, {256, 1, 1}, [&] {
    int* shared = static_cast<int*>(dynamicShared());
    const int me = self().number;
    shared[me] = me;
    namedBarrier(0, 0, true);
    right = right && shared[255 - me] == 255 - me;
    // A producer of 64 threads arrives, the consumers of the other 192 wait.
    if (me < 64) shared[300 + me] = me;
    namedBarrier(3, 256, me >= 64);
    if (me >= 64) right = right && shared[300 + me % 64] == me % 64;
    right = right && countBarrier(me % 2) == 128;
  });
  expect("named barriers hold", failure.empty() && right);
}

void clustersMeet() {
  bool right = true;
  const std::string failure = launch({8, 1, 1}, {64, 1, 1}, [&] {
    int* shared = static_cast<int*>(dynamicShared());
    const int me = self().number;
    clusterArrive();
    clusterWait();
    const uint32_t there = addressInBlock(sharedAddress(shared + me), clusterRank() ^ 1);
    *reinterpret_cast<int*>(sharedPointer(there)) = static_cast<int>(blockIdx.x);
    clusterArrive();
    clusterWait();
    right = right && shared[me] == static_cast<int>(blockIdx.x ^ 1);
  }, {2, 1, 1});
  expect("blocks of a cluster write to each other", failure.empty() && right);
}

void workComes() {
  bool late = false, right = true;
  const std::string failure = launch({3, 1, 1}, {64, 1, 1}, [&] {
    volatile int* shared = static_cast<int*>(dynamicShared());
    if (self().number == 0) {
      shared[0] = 0;
      later("a copy", [shared] { shared[0] = 7; });
      late = late || shared[0] == 0;
    }
    namedBarrier(0, 0, true);
    waitUntil("the copy", [&] { return shared[0] == 7; });
    right = right && shared[0] == 7;
  });
  expect("work beside the threads comes later", failure.empty() && right && late);
}

void flagsOfOtherBlocks() {
  volatile int flag = 0;
  expect("blocks wait for flags of others", launch({4, 1, 1}, {32, 1, 1}, [&] {
    if (blockIdx.x == 3) flag = 1;
    waitUntil("a flag", [&] { return flag == 1; });
  }).empty());
}

int descend(int depth) {
  volatile int mine[64] = {depth};
  return depth ? descend(depth - 1) + mine[0] : 0;
}

void faultsAreReported() {
  const std::string stuck = launch({1, 1, 1}, {64, 1, 1}, [] {
    if (self().number < 32) namedBarrier(2, 64, true);
    else waitUntil("godot", [] { return false; });
  });
  expect("a deadlock is reported", contains(stuck, "warp 0, lanes ffffffff wait for named barrier 2") &&
                                       contains(stuck, "warp 1, lanes ffffffff wait for godot"));
  expect("writes behind shared memory are found", contains(launch({1, 1, 1}, {1, 1, 1}, [] {
    static_cast<volatile char*>(dynamicShared())[100] = 1;
  }, {1, 1, 1}, 100), "behind its dynamic shared memory"));
  expect("accesses to what is no memory are reported", contains(launch({2, 1, 1}, {32, 1, 1}, [] {
    if (self().lane == 5) *reinterpret_cast<volatile char*>(4096) = 1;
  }), "an access to 0x1000, which is no memory of the device\n  in thread (5, 0, 0)"));
  expect("so are those of work beside the threads", contains(launch({1, 1, 1}, {32, 1, 1}, [] {
    later("a copy", [] { *reinterpret_cast<volatile char*>(4096) = 1; });
  }), "in a copy of block (0, 0, 0)"));
  expect("and stacks that are too small", contains(launch({1, 1, 1}, {32, 1, 1}, [] { descend(1 << 20); }),
                                                   "which is no memory"));
  expect("too much shared memory is refused", contains(launch({1, 1, 1}, {1, 1, 1}, [] {}, {1, 1, 1}, 300000),
                                                       "cannot be launched"));
  expect("a launch after a failure runs", launch({1, 1, 1}, {64, 1, 1}, [] { namedBarrier(0, 0, true); }).empty());
}

void sharedVariablesAreOfTheBlock() {
  bool poisoned = true, own = true;
  const std::string failure = launch({16, 1, 1}, {64, 1, 1}, [&] {
    static SharedPlace at, other;
    int& value = shared<int>(at);
    int& second = shared<int>(other);
    namedBarrier(0, 0, true);
    if (self().number == 0) {
      poisoned = poisoned && value == -1 && second == -1;
      value = static_cast<int>(blockIdx.x);
    }
    namedBarrier(0, 0, true);
    own = own && value == static_cast<int>(blockIdx.x) && second == -1;
  });
  expect("__shared__ variables are of the block and poisoned", failure.empty() && poisoned && own);
}

std::vector<int> orderOf(uint64_t seed) {
  setSeed(seed);
  std::vector<int> order;
  launch({1, 1, 1}, {256, 1, 1}, [&] { if (self().lane == 0) order.push_back(self().warp->index); });
  return order;
}

}  // namespace
}  // namespace octavo::emulator

int main() {
  using namespace octavo::emulator;
  everyThreadRuns();
  lanesMeet();
  groupsMeet();
  barriersHold();
  clustersMeet();
  workComes();
  flagsOfOtherBlocks();
  faultsAreReported();
  sharedVariablesAreOfTheBlock();
  expect("the order comes from the seed", orderOf(1) != orderOf(2));
  return broken ? 1 : 0;
}
