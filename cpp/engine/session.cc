#include "engine/session.h"

#include <algorithm>

namespace octavo {

SessionTable::SessionTable(BlockPool& pool, const Clock& clock, const SessionSettings& settings)
    : pool_(pool),
      settings_(settings),
      shift_(std::countr_zero(static_cast<uint32_t>(settings.blockSize))),
      hasher_(settings.key),
      prefix_(pool, clock, settings.prefix),
      runningOn_(static_cast<size_t>(pool.total())) {}

Session& SessionTable::create(const std::string& tenant) {
  auto session = std::make_unique<Session>();
  session->id = lastId_ + 1;
  session->tenant = tenant;
  session->root = hasher_.root(settings_.model, tenant);
  Session& created = *sessions_.emplace(session->id, std::move(session)).first->second;
  lastId_ = created.id;
  touch(created);
  return created;
}

Session& SessionTable::fork(const Session& session) {
  Session& forked = create(session.tenant);
  forked.tokens = session.tokens;
  forked.quota = session.quota;
  forked.stages = session.stages;
  forked.chain = session.chain;
  forked.blocks = session.blocks;
  forked.lastStep = session.lastStep;
  prefix_.share(forked.blocks, session.id, forked.id);
  return forked;
}

Session* SessionTable::find(SessionId id) {
  const auto found = sessions_.find(id);
  return found == sessions_.end() ? nullptr : found->second.get();
}

void SessionTable::remove(Session& session, uint64_t fence) {
  session.tokens.clear();
  trim(session, fence);
  sessions_.erase(session.id);
}

bool SessionTable::cover(Session& session, int64_t tokens, int64_t expected, uint64_t fence) {
  if (!makeWritable(session, fence)) return false;
  const size_t held = session.blocks.size();
  const int64_t missing = blocksFor(tokens) - static_cast<int64_t>(held);
  if (missing <= 0) return true;
  const int64_t inAll = blocksFor(expected) - static_cast<int64_t>(held);
  if (!pool_.take({OwnerKind::kSession, session.id}, missing, session.blocks, inAll)) return false;
  if (session.running) countRunning(session, held, 1);
  return true;
}

int64_t SessionTable::blocksToCover(const Session& session, int64_t tokens) const {
  const int64_t missing = blocksFor(tokens) - static_cast<int64_t>(session.blocks.size());
  return std::max<int64_t>(0, missing) + (mustCopy(session) ? 1 : 0);
}

void SessionTable::relocate(const std::vector<BlockMove>& moves) {
  for (const BlockMove& move : moves) {
    std::vector<uint64_t> holders = prefix_.relocate(move.from, move.to);
    if (holders.empty() && move.owner.kind == OwnerKind::kSession) holders.push_back(move.owner.id);
    for (const uint64_t holder : holders) {
      Session* const session = find(holder);  // none lists a block that nobody holds any more: check() says so
      if (session) std::replace(session->blocks.begin(), session->blocks.end(), move.from, move.to);
    }
    std::swap(runningOn_[move.from], runningOn_[move.to]);
  }
}

void SessionTable::trim(Session& session, uint64_t fence) {
  const auto tokens = static_cast<int64_t>(session.tokens.size());
  const auto full = static_cast<size_t>(tokens >> shift_);
  if (session.chain.size() > full) session.chain.resize(full);
  shorten(session, static_cast<size_t>(blocksFor(tokens)), fence, PrefixCache::Leaving::kKeep);
  prefix_.enforceShare(fence);
}

/** Gives up the blocks after the first `blocks`. */
void SessionTable::shorten(Session& session, size_t blocks, uint64_t fence, PrefixCache::Leaving leaving) {
  if (session.blocks.size() <= blocks) return;
  if (session.running) countRunning(session, blocks, -1);
  const uint64_t last = std::min(fence, session.lastStep);
  prefix_.leave(session.id, std::span(session.blocks).subspan(blocks), last, leaving);
  session.blocks.resize(blocks);
  if (session.chain.size() > blocks) session.chain.resize(blocks);
}

void SessionTable::setRunning(Session& session, bool running) {
  if (session.running == running) return;
  session.running = running;
  countRunning(session, 0, running ? 1 : -1);
}

/** A running session holds its blocks from `firstBlock` on, or does so no more. */
void SessionTable::countRunning(const Session& session, size_t firstBlock, int change) {
  for (size_t index = firstBlock; index < session.blocks.size(); ++index) {
    int32_t& sessions = runningOn_[session.blocks[index]];
    if (sessions == 0) ++runningBlocks_;
    sessions += change;
    runningListings_ += change;
    if (sessions == 0) --runningBlocks_;
  }
}

int64_t SessionTable::blocksOfOthers(const Session& session) const {
  return std::count_if(session.blocks.begin(), session.blocks.end(), [&](BlockId block) {
    return prefix_.ownerOf(block, session.id) != session.id;
  });
}

}  // namespace octavo
