// The pool's integrity check: every block, every page, every count, every ledger line.
#include <map>

#include "base/error.h"
#include "kv/block_pool.h"
#include "kv/pool_tags.h"

namespace octavo {

namespace {

[[noreturn]] void disagree(const std::string& what, int64_t counted, int64_t expected) {
  throw Error(ErrorCode::kInternal, "KV pool: " + what + ": " + std::to_string(counted) + ", expected " +
                                        std::to_string(expected));
}

}  // namespace

void BlockPool::fail(BlockId id, const std::string& problem) const {
  std::string message = "KV block " + std::to_string(id) + " " + problem;
  if (id < 0 || id >= total_) {
    message += ": the pool has " + std::to_string(total_) + " blocks";
  } else {
    const char* const states[] = {"free", "owned", "in flight", "in quarantine"};
    const Block& block = blocks_[id];
    message += std::string(": it is ") + states[static_cast<size_t>(block.state)] + ", last owner " +
               ownerKindName(block.owner.kind) + " " + std::to_string(block.owner.id);
  }
  throw Error(ErrorCode::kInternal, message);
}

void BlockPool::check() const {
  const std::lock_guard lock(mutex_);
  pages_.check();
  checkBlocks();
  checkLedger();
}

void BlockPool::checkBlocks() const {
  std::vector<bool> seen(static_cast<size_t>(total_), false);
  checkInFlight(seen);
  std::map<Owner, int64_t> counted;
  int64_t quarantined = 0;
  for (BlockId id = 0; id < total_; ++id) {
    const State state = blocks_[id].state;
    if (state == State::kInFlight && !seen[id]) fail(id, "is on no list");
    if (pages_.isLive(id) != (state != State::kFree)) fail(id, "is counted otherwise by its pages");
    if (state == State::kOwned) ++counted[blocks_[id].owner];
    quarantined += state == State::kQuarantined ? 1 : 0;
  }
  if (quarantined != quarantined_) disagree("blocks in quarantine", quarantined, quarantined_);
  if (live() > capacity_ || capacity_ > total_) disagree("live blocks within the capacity", live(), capacity_);
  for (const auto& [owner, blocks] : owned_) {
    if (counted[owner] == blocks) continue;
    disagree(std::string("blocks of ") + ownerKindName(owner.kind) + " " + std::to_string(owner.id),
             counted[owner], blocks);
  }
  for (const auto& [owner, blocks] : counted) {
    if (blocks > 0 && !owned_.contains(owner)) disagree("blocks of an owner without a count", blocks, 0);
  }
}

void BlockPool::checkInFlight(std::vector<bool>& seen) const {
  for (const BlockId id : inFlight_) {
    if (id < 0 || id >= total_) fail(id, "is on a list");
    if (seen[id]) fail(id, "is listed twice");
    if (blocks_[id].state != State::kInFlight) fail(id, "is on the wrong list");
    seen[id] = true;
  }
}

void BlockPool::checkLedger() const {
  const std::vector<LedgerLine> lines = ledger_.lines();
  const int64_t backedFree = pages_.backedBlocks() - live();
  const auto inFlight = static_cast<int64_t>(inFlight_.size());
  checkLine(kEngine, kFreeTag, backedFree, static_cast<size_t>(backedFree) * blockBytes(), lines);
  checkLine(kEngine, kInFlightTag, inFlight, static_cast<size_t>(inFlight) * blockBytes(), lines);
  checkLine(kEngine, kQuarantineTag, quarantined_, static_cast<size_t>(quarantined_) * blockBytes(), lines);
  const int64_t held = pages_.elastic() ? pages_.mappedPages() : pages_.pages();
  const size_t padding = static_cast<size_t>(held) * kPageBytes - pages_.backedBlocks() * blockBytes();
  checkLine(kEngine, kPageTag, held, padding, lines);
  size_t owners = 0;
  for (const auto& [owner, blocks] : owned_) {
    checkLine(owner, ownedTag(owner), blocks, static_cast<size_t>(blocks) * blockBytes(), lines);
    owners += blocks > 0;
  }
  size_t lined = 0;
  for (const LedgerLine& line : lines) lined += line.region == Region::kKv && line.tag == ownedTag(line.owner);
  if (lined != owners) disagree("ledger lines of owners", static_cast<int64_t>(lined), static_cast<int64_t>(owners));
}

void BlockPool::checkLine(Owner owner, const std::string& tag, int64_t count, size_t bytes,
                          const std::vector<LedgerLine>& lines) const {
  size_t heldBytes = 0;
  int64_t held = 0;
  for (const LedgerLine& line : lines) {
    if (line.region != Region::kKv || line.owner != owner || line.tag != tag) continue;
    heldBytes = line.bytes;
    held = static_cast<int64_t>(line.count);
  }
  const std::string name = std::string("ledger line ") + ownerKindName(owner.kind) + " " +
                           std::to_string(owner.id) + " / " + tag;
  if (held != count) disagree(name + " in blocks", held, count);
  if (heldBytes != bytes) disagree(name + " in bytes", static_cast<int64_t>(heldBytes), static_cast<int64_t>(bytes));
}

}  // namespace octavo
