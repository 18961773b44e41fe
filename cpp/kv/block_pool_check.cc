// The pool's integrity check: every block, every count, every ledger line.
#include <map>

#include "base/error.h"
#include "kv/block_pool.h"

namespace octavo {

namespace {

constexpr Owner kEngine{OwnerKind::kEngine, 0};

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
    const char* const states[] = {"free", "owned", "in flight"};
    const Block& block = blocks_[id];
    message += std::string(": it is ") + states[static_cast<size_t>(block.state)] + ", last owner " +
               ownerKindName(block.owner.kind) + " " + std::to_string(block.owner.id);
  }
  throw Error(ErrorCode::kInternal, message);
}

void BlockPool::check() const {
  const std::lock_guard lock(mutex_);
  checkBlocks();
  checkLedger();
}

void BlockPool::checkBlocks() const {
  std::vector<bool> seen(static_cast<size_t>(total_), false);
  checkList(free_, State::kFree, seen);
  checkList(inFlight_, State::kInFlight, seen);
  std::map<Owner, int64_t> counted;
  int64_t owned = 0;
  for (BlockId id = 0; id < total_; ++id) {
    if (seen[id]) continue;
    if (blocks_[id].state != State::kOwned) fail(id, "is on no list");
    ++counted[blocks_[id].owner];
    ++owned;
  }
  const auto total = static_cast<int64_t>(free_.size() + inFlight_.size()) + owned;
  if (total != total_) disagree("free + in flight + owned", total, total_);
  for (const auto& [owner, blocks] : owned_) {
    if (counted[owner] == blocks) continue;
    disagree(std::string("blocks of ") + ownerKindName(owner.kind) + " " + std::to_string(owner.id),
             counted[owner], blocks);
  }
  for (const auto& [owner, blocks] : counted) {
    if (blocks > 0 && !owned_.contains(owner)) disagree("blocks of an owner without a count", blocks, 0);
  }
}

void BlockPool::checkList(const std::vector<BlockId>& list, State state, std::vector<bool>& seen) const {
  for (const BlockId id : list) {
    if (id < 0 || id >= total_) fail(id, "is on a list");
    if (seen[id]) fail(id, "is listed twice");
    if (blocks_[id].state != state) fail(id, "is on the wrong list");
    seen[id] = true;
  }
}

void BlockPool::checkLedger() const {
  const std::vector<LedgerLine> lines = ledger_.lines();
  checkLine(kEngine, "kv.free", static_cast<int64_t>(free_.size()), lines);
  checkLine(kEngine, "kv.inFlight", static_cast<int64_t>(inFlight_.size()), lines);
  size_t owners = 0;
  for (const auto& [owner, blocks] : owned_) {
    checkLine(owner, "kv.blocks", blocks, lines);
    owners += blocks > 0;
  }
  size_t lined = 0;
  for (const LedgerLine& line : lines) lined += line.region == Region::kKv && line.tag == "kv.blocks";
  if (lined != owners) disagree("ledger lines of owners", static_cast<int64_t>(lined), static_cast<int64_t>(owners));
}

void BlockPool::checkLine(Owner owner, const std::string& tag, int64_t blocks,
                          const std::vector<LedgerLine>& lines) const {
  int64_t bytes = 0;
  int64_t count = 0;
  for (const LedgerLine& line : lines) {
    if (line.region != Region::kKv || line.owner != owner || line.tag != tag) continue;
    bytes = static_cast<int64_t>(line.bytes);
    count = static_cast<int64_t>(line.count);
  }
  const std::string name = std::string("ledger line ") + ownerKindName(owner.kind) + " " +
                           std::to_string(owner.id) + " / " + tag;
  if (count != blocks) disagree(name + " in blocks", count, blocks);
  const auto expected = static_cast<int64_t>(blocks * blockBytes_);
  if (bytes != expected) disagree(name + " in bytes", bytes, expected);
}

}  // namespace octavo
