#include "machine/block.h"

#include <algorithm>

namespace octavo::emulator {

void Block::begin(uint3 at, dim3 size, uint32_t dynamicBytes) {
  index = at;
  threads = live = static_cast<int>(size.x * size.y * size.z);
  warpCount = (threads + kLanes - 1) / kLanes;
  for (int w = 0; w < warpCount; ++w) {
    Warp& warp = warps[w];
    const int lanes = std::min(kLanes, threads - w * kLanes);
    warp.block = this;
    warp.index = w;
    warp.live = warp.runnable = lanes == kLanes ? ~0u : (1u << lanes) - 1;
    warp.polling = 0;
    warp.meetings.clear();
    for (int lane = 0; lane < lanes; ++lane) {
      Thread& thread = warp.threads[lane];
      const auto number = static_cast<unsigned>(w * kLanes + lane);
      thread = {};
      thread.index = {number % size.x, number / size.x % size.y, number / (size.x * size.y)};
      thread.block = this;
      thread.warp = &warp;
      thread.lane = lane;
      thread.number = static_cast<int>(number);
    }
  }
  std::fill(barriers, barriers + kNamedBarriers, Barrier{});
  std::fill(groups, groups + kMostWarps / 4, GroupMeeting{});
  clusterPhases.assign(static_cast<size_t>(threads), 0);
  window.prepare(dynamicBytes);
}

}  // namespace octavo::emulator
