// The engine's share of the KV pool's pages: blocks move together between steps, pages go back when nothing runs.
#include <algorithm>
#include <chrono>

#include "engine/engine_state.h"

namespace octavo {

namespace {

constexpr uint64_t kCapacityTry = 64;  // steps between looks at the device's free memory after it refused a page
constexpr double kIdlePinning = 1.1;   // mapped pages over the packed floor: above it an idle engine moves blocks

}  // namespace

/** One slice: the block tables, then the copies on the stream of the steps. False when there was nothing to move. */
bool Engine::State::compactOnce(bool onlyIfStuck) {
  BlockPool& pool = cache->pool();
  const int64_t began = clock->now();
  const int64_t used = pool.pages().used;
  const std::vector<BlockMove> moves = onlyIfStuck ? pool.compactIfStuck() : pool.compact();
  if (moves.empty()) return false;
  sessions->relocate(moves);
  moveBlocks(moves);
  const int64_t took = clock->now() - began;
  ++compaction.slices;
  compaction.moves += static_cast<int64_t>(moves.size());
  compaction.bytes += moves.size() * pool.blockBytes();
  compaction.pagesFreed += used - pool.pages().used;
  compaction.nanoseconds += took;
  compaction.longestNanoseconds = std::max(compaction.longestNanoseconds, took);
  return true;
}

/** Pages may go once the copies out of them are done. */
void Engine::State::trimPages() {
  runner->synchronize();
  cache->pool().trim(0);
}

/** A slice for those who asked; true while there is more to do. */
bool Engine::State::compactForCallers(std::unique_lock<std::mutex>& lock) {
  if (compactions.empty()) return false;
  try {
    if (!failure && !stopping) {
      if (compactOnce(false)) return true;
      trimPages();
    }
  } catch (const Error& error) {
    failAll(error);
  }
  const auto callers = std::exchange(compactions, {});
  lock.unlock();
  for (const auto& call : callers) call();
  lock.lock();
  return false;
}

/** An engine without requests that stays so for a while keeps no page and no pinned buffer that it does not need. */
void Engine::State::tidyWhenIdle(std::unique_lock<std::mutex>& lock) {
  const std::chrono::nanoseconds idle = std::chrono::milliseconds(options.testing.idleMilliseconds);
  const std::chrono::nanoseconds expiry = untilExpiry();
  const auto isWanted = [this] { return changed || stopping; };
  if (!requests.empty() || failure || wake.wait_for(lock, std::min(idle, expiry), isWanted) || expiry < idle) return;
  const PoolPages pages = cache->pool().pages();
  const double tolerated = kIdlePinning * static_cast<double>(pages.packed) + 1;
  try {
    if (static_cast<double>(pages.used) > tolerated) {
      while (!isWanted() && compactOnce(false)) {
        lock.unlock();  // callers need not wait for more than a slice
        lock.lock();
      }
    }
    trimPages();
    allocator->trimPinned();
  } catch (const Error& error) {
    failAll(error);
  }
}

/**
 * After the device refused a page: as much again as it has free by now. Tried seldom, for a device that refuses again
 * takes its time; but while a request waits for that alone, no step would come.
 */
void Engine::State::recoverCapacity() {
  BlockPool& pool = cache->pool();
  if (pool.capacity() == pool.total() - pool.quarantined()) return;
  if (nextCapacityTry == 0) nextCapacityTry = step + kCapacityTry;
  if (!scheduler->isShort() && step < nextCapacityTry) return;
  nextCapacityTry = 0;
  pool.raiseCapacity(allocator->device().memoryUse().freeBytes);
}

/** The test hook: another process has all the rest. */
void Engine::State::limitPages() {
  const EngineTesting& testing = options.testing;
  if (testing.kvPagesUntil == 0) return;
  const bool limited = step + 1 < testing.kvPagesUntil;
  allocator->setLimit(Region::kKv, limited ? testing.kvPages * kPageBytes : plan.regionBytes(Region::kKv));
}

}  // namespace octavo
