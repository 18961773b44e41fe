// Which blocks are live, and which of their warps goes on next.
#include <algorithm>

#include "machine/machine.h"
#include "machine/traps.h"

namespace octavo::emulator {

namespace {

constexpr int kMostRounds = 16;  // of a block before it is another one's turn

uint64_t sizeOf(dim3 size) { return uint64_t{size.x} * size.y * size.z; }

std::string placeOf(uint3 at) {
  return "(" + std::to_string(at.x) + ", " + std::to_string(at.y) + ", " + std::to_string(at.z) + ")";
}

template <class T>
void shuffle(T* items, uint32_t count, Random& random) {
  for (uint32_t i = count; i > 1; --i) std::swap(items[i - 1], items[random.below(i)]);
}

std::string refusalOf(const Launch& launch) {
  const uint64_t threads = sizeOf(launch.block), blocks = sizeOf(launch.cluster);
  if (threads == 0 || threads > 1024) return "a block of " + std::to_string(threads) + " threads";
  if (sizeOf(launch.grid) == 0) return "a grid without blocks";
  if (launch.grid.y > 65535 || launch.grid.z > 65535) return "a grid of more than 65535 blocks in y or z";
  if (launch.dynamicBytes > kMostDynamicBytes) {
    return std::to_string(launch.dynamicBytes) + " bytes of dynamic shared memory";
  }
  if (blocks == 0 || blocks > 8) return "a cluster of " + std::to_string(blocks) + " blocks";
  if (launch.grid.x % launch.cluster.x || launch.grid.y % launch.cluster.y || launch.grid.z % launch.cluster.z) {
    return "a grid that is no multiple of its cluster";
  }
  return "";
}

}  // namespace

bool canLaunch(const Launch& launch) { return refusalOf(launch).empty(); }

std::string Machine::run(const Launch& launch) {
  if (std::string refusal = refusalOf(launch); !refusal.empty()) {
    return std::string(launch.kernel) + " cannot be launched with " + refusal;
  }
  const Traps traps;
  begin(launch);
  while (failure_.empty()) {
    const bool started = startClusters();
    if (live_.empty()) break;
    progress_ = started;
    std::vector<Block*> order = live_;
    shuffle(order.data(), static_cast<uint32_t>(order.size()), random_);
    for (Block* block : order) {
      roundOf(*block);
      if (!failure_.empty()) break;
    }
    if (!failure_.empty()) break;
    if (doWork(false)) progress_ = true;
    if (!progress_ && !doWork(true) && failure_.empty()) failure_ = "no thread can go on\n" + describeWaits();
    retire();
  }
  const std::string failure = failure_.empty() ? "" : std::string(launch.kernel) + ": " + failure_;
  abandon();
  return failure;
}

void Machine::begin(const Launch& launch) {
  launch_ = &launch;
  ++launches_;
  random_ = Random(seed + (launches_ << 32));
  failure_.clear();
  staticBytes_ = 0;
  nextCluster_ = 0;
  clusterCount_ = sizeOf(launch.grid) / sizeOf(launch.cluster);
  blockDim = launch.block;
  gridDim = launch.grid;
  const int threads = static_cast<int>((sizeOf(launch.block) + kLanes - 1) / kLanes * kLanes);
  const int held = std::min(kThreadsPerMultiprocessor / threads,
                            kSharedPerMultiprocessor / static_cast<int>(launch.dynamicBytes + 1024));
  mostBlocks_ = kMultiprocessors * std::clamp(held, 1, 2);
}

bool Machine::startClusters() {
  const uint64_t blocks = sizeOf(launch_->cluster);
  bool started = false;
  while (nextCluster_ < clusterCount_ && (live_.empty() || live_.size() + blocks <= static_cast<size_t>(mostBlocks_))) {
    startCluster();
    started = true;
  }
  return started;
}

void Machine::startCluster() {
  const dim3 size = launch_->cluster;
  const unsigned across = launch_->grid.x / size.x, down = launch_->grid.y / size.y;
  const uint64_t number = nextCluster_++;
  const uint3 first = {static_cast<unsigned>(number % across) * size.x,
                       static_cast<unsigned>(number / across % down) * size.y,
                       static_cast<unsigned>(number / across / down) * size.z};
  auto cluster = std::make_unique<Cluster>();
  cluster->blocks = static_cast<int>(sizeOf(size));
  for (int rank = 0; rank < cluster->blocks; ++rank) {
    if (free_.empty()) {
      pool_.push_back(std::make_unique<Block>());
      free_.push_back(pool_.back().get());
    }
    Block* block = free_.back();
    free_.pop_back();
    const auto r = static_cast<unsigned>(rank);
    block->rank = rank;
    block->cluster = cluster.get();
    block->begin({first.x + r % size.x, first.y + r / size.x % size.y, first.z + r / (size.x * size.y)}, launch_->block,
                 launch_->dynamicBytes);
    cluster->threads += block->threads;
    cluster->members.push_back(block);
    live_.push_back(block);
  }
  clusters_.push_back(std::move(cluster));
}

/** Its warps go on, in any order, as long as one can, but not for ever: others wait too. */
void Machine::roundOf(Block& block) {
  uint8_t order[kMostWarps];
  const auto count = static_cast<uint32_t>(block.warpCount);
  for (uint32_t w = 0; w < count; ++w) order[w] = static_cast<uint8_t>(w);
  for (int round = 0; round < kMostRounds && block.live; ++round) {
    shuffle(order, count, random_);
    bool ran = false;
    for (uint32_t w = 0; w < count; ++w) {
      if (step(block.warps[order[w]])) ran = true;
      if (!failure_.empty()) return;
    }
    if (!ran) return;
    progress_ = true;
    if (!work_.empty()) doWork(false);
  }
}

/** Whether a lane of it ran. */
bool Machine::step(Warp& warp) {
  for (uint32_t lanes = warp.polling; lanes; lanes &= lanes - 1) {
    const uint32_t lane = lanes & -lanes;
    Thread& thread = warp.threads[__builtin_ctz(lane)];
    if (!thread.ready(thread.condition)) continue;
    warp.polling &= ~lane;
    warp.runnable |= lane;
  }
  bool ran = false;
  while (Thread* next = takeRunnable(warp)) {
    ran = true;
    ++steps_;
    resume(*next, &scheduler_);
    running = nullptr;
    if (!failure_.empty()) break;
  }
  return ran;
}

/** Some of the work beside the threads, in any order; one piece at least if `any`. Whether there was one. */
bool Machine::doWork(bool any) {
  bool done = false;
  for (size_t i = 0; i < work_.size();) {
    if (random_.next() & 1 && !(any && !done && i + 1 == work_.size())) {
      ++i;
      continue;
    }
    doPiece(i);
    done = true;
  }
  return done;
}

void Machine::doPiece(size_t index) {
  std::swap(work_[index], work_.back());
  const Work work = std::move(work_.back());
  work_.pop_back();
  const auto place = [&work] {
    return std::string("\n  in ") + work.what + " of block " + placeOf(work.block->index);
  };
  if (sigsetjmp(afterWork, 0)) {
    failure_ += place();
    return;
  }
  try {
    work.run();
  } catch (const Fault& fault) {
    failure_ = fault.words + place();
  }
}

void Machine::doWorkOf(const Block& block) {
  for (size_t i = 0; i < work_.size();) {
    if (work_[i].block == &block) doPiece(i);
    else ++i;
  }
}

/** Clusters whose threads have all ended make room for others. */
void Machine::retire() {
  for (size_t i = 0; i < clusters_.size();) {
    Cluster& cluster = *clusters_[i];
    if (cluster.threads) {
      ++i;
      continue;
    }
    for (Block* block : cluster.members) {
      doWorkOf(*block);
      if (!block->window.isIntact()) {
        failure_ = "block " + placeOf(block->index) + " wrote behind its dynamic shared memory";
      }
      live_.erase(std::find(live_.begin(), live_.end(), block));
      free_.push_back(block);
    }
    clusters_.erase(clusters_.begin() + static_cast<long>(i));
  }
}

std::string Machine::describeWaits() const {
  constexpr int kMostLines = 24;
  std::string text;
  int lines = 0;
  for (const Block* block : live_) {
    for (int w = 0; w < block->warpCount; ++w) {
      const Warp& warp = block->warps[w];
      for (uint32_t rest = warp.live; rest;) {
        const char* what = warp.threads[__builtin_ctz(rest)].waitsFor;
        uint32_t same = 0;
        for (uint32_t lanes = rest; lanes; lanes &= lanes - 1) {
          if (warp.threads[__builtin_ctz(lanes)].waitsFor == what) same |= lanes & -lanes;
        }
        rest &= ~same;
        if (++lines > kMostLines) return text + "  ...";
        char mask[16];
        std::snprintf(mask, sizeof(mask), "%08x", same);
        text += "  block " + placeOf(block->index) + ", warp " + std::to_string(w) + ", lanes " + mask + " wait for " +
                (what ? what : "nothing") + "\n";
      }
    }
  }
  return text;
}

void Machine::abandon() {
  work_.clear();
  clusters_.clear();
  free_.clear();
  live_.clear();
  for (const auto& block : pool_) free_.push_back(block.get());
  if (!failure_.empty()) stacks_.reset();
  running = nullptr;
}

}  // namespace octavo::emulator
