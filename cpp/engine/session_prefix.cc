// What sessions find in the prefix cache, put there, and copy before they write.
#include <algorithm>

#include "engine/session.h"

namespace octavo {

std::span<const int32_t> SessionTable::tokensOf(const std::vector<int32_t>& tokens, size_t block) const {
  const auto size = static_cast<size_t>(settings_.blockSize);
  return std::span(tokens).subspan(block * size, size);
}

/** Of the first blocks of the prompt, which begins with the session's tokens. */
std::vector<PrefixHash> SessionTable::chainOf(const Session& session, const std::vector<int32_t>& prompt,
                                              size_t blocks) const {
  std::vector<PrefixHash> chain = session.chain;
  while (chain.size() < blocks) {
    chain.push_back(hasher_.next(chain.empty() ? session.root : chain.back(), tokensOf(prompt, chain.size())));
  }
  return chain;
}

int32_t SessionTable::keepPrefix(Session& session, const std::vector<int32_t>& prompt, int32_t most,
                                 uint64_t fence, bool again) {
  const size_t usable = std::min(prompt.size() - 1, static_cast<size_t>(most));
  const size_t limit = std::min(session.tokens.size(), usable);
  size_t kept = 0;
  while (kept < limit && session.tokens[kept] == prompt[kept]) ++kept;
  session.tokens.resize(kept);
  trim(session, fence);
  if (!prefix_.enabled()) return static_cast<int32_t>(kept);
  if (!again) session.use = prefix_.nextUse();
  if (usable == 0) return 0;
  const size_t held = findMore(session, prompt, kept, usable / static_cast<size_t>(settings_.blockSize), fence);
  if (!again) prefix_.countQuery(prompt.size(), kept, held - kept);
  return static_cast<int32_t>(held);
}

/** Where the cache has more of the prompt than the session: its own from there on goes. Returns the tokens held. */
size_t SessionTable::findMore(Session& session, const std::vector<int32_t>& prompt, size_t kept, size_t limit,
                              uint64_t fence) {
  const size_t own = session.chain.size();
  prefix_.touch(std::span(session.blocks).first(own), session.use);
  std::vector<PrefixHash> chain = chainOf(session, prompt, limit);
  const auto beyond = std::span<const PrefixHash>(chain).subspan(own);
  const size_t more = prefix_.match(beyond);
  const size_t held = (own + more) * static_cast<size_t>(settings_.blockSize);
  if (held <= kept) return kept;
  shorten(session, own, fence, PrefixCache::Leaving::kKeep);
  for (const BlockId block : prefix_.hold(beyond.first(more), session.id, session.use)) {
    session.blocks.push_back(block);
  }
  if (session.running) countRunning(session, own, 1);
  prefix_.enforceShare(fence);
  chain.resize(own + more);
  session.chain = std::move(chain);
  session.tokens.assign(prompt.begin(), prompt.begin() + static_cast<int64_t>(held));
  return held;
}

std::vector<BlockId> SessionTable::preview(const Session& session, const std::vector<int32_t>& prompt) const {
  const size_t limit = std::min(session.tokens.size(), prompt.size() - 1);
  size_t kept = 0;
  while (kept < limit && session.tokens[kept] == prompt[kept]) ++kept;
  std::vector<BlockId> blocks(session.blocks.begin(),
                              session.blocks.begin() + blocksFor(static_cast<int64_t>(kept)));
  const auto size = static_cast<size_t>(settings_.blockSize);
  if (kept % size != 0 && prefix_.isShared(blocks.back())) blocks.pop_back();
  if (!prefix_.enabled()) return blocks;
  const size_t own = std::min(session.chain.size(), kept / size);
  Session cut;
  cut.root = session.root;
  cut.chain.assign(session.chain.begin(), session.chain.begin() + static_cast<int64_t>(own));
  const std::vector<PrefixHash> chain = chainOf(cut, prompt, (prompt.size() - 1) / size);
  const std::vector<BlockId> found = prefix_.blocksOf(std::span(chain).subspan(own));
  if ((own + found.size()) * size <= kept) return blocks;
  blocks.resize(own);
  blocks.insert(blocks.end(), found.begin(), found.end());
  return blocks;
}

void SessionTable::publish(Session& session, uint64_t fence) {
  if (!prefix_.enabled()) return;
  const size_t full = session.tokens.size() >> shift_;
  while (session.chain.size() < full) {
    const size_t index = session.chain.size();
    const PrefixHash& before = index == 0 ? session.root : session.chain.back();
    const PrefixHash hash = hasher_.next(before, tokensOf(session.tokens, index));
    const auto depth = static_cast<int32_t>(index);
    const BlockId block = prefix_.enter(hash, depth, session.blocks[index], session.id, session.use, fence);
    replace(session, index, block);
    session.chain.push_back(hash);
  }
}

bool SessionTable::mustCopy(const Session& session) const {
  const BlockId block = partlyFilled(session);
  return block >= 0 && prefix_.isShared(block);
}

/** A block that holds tokens must be the session's alone before it gets more. */
bool SessionTable::makeWritable(Session& session, uint64_t fence) {
  const BlockId block = partlyFilled(session);
  if (block < 0 || prefix_.claim(block)) return true;
  const Owner owner{OwnerKind::kSession, session.id};
  std::vector<BlockId> near{block};
  if (!pool_.take(owner, 1, near)) return false;
  copies_.push_back({owner, block, near.back()});
  replace(session, session.tokens.size() >> shift_, near.back());
  prefix_.leave(session.id, {&block, 1}, fence, PrefixCache::Leaving::kKeep);
  prefix_.countCopy();
  return true;
}

void SessionTable::replace(Session& session, size_t index, BlockId block) {
  BlockId& held = session.blocks[index];
  if (held == block) return;
  if (session.running) {
    if (--runningOn_[held] == 0) --runningBlocks_;
    if (runningOn_[block]++ == 0) ++runningBlocks_;
  }
  held = block;
}

}  // namespace octavo
