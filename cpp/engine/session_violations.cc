// Blocks that are not held as they should be: which they are, and what is done about them.
#include <algorithm>
#include <map>

#include "engine/session.h"

namespace octavo {

namespace {

using State = BlockPool::State;

std::string nameOf(const Owner& owner) {
  return owner.kind == OwnerKind::kEngine ? "the engine" : std::string(ownerKindName(owner.kind)) + " " +
                                                               std::to_string(owner.id);
}

std::string whatItIs(const BlockPool::Record& record) {
  switch (record.state) {
    case State::kFree: return "is free, last " + nameOf(record.owner) + "'s";
    case State::kOwned: return "is " + nameOf(record.owner) + "'s";
    case State::kInFlight: return "is in flight, last " + nameOf(record.owner) + "'s";
    case State::kQuarantined: return "is in quarantine";
  }
  return "is free";
}

std::string listOf(const char* none, const char* some, const std::vector<SessionId>& sessions) {
  if (sessions.empty()) return none;
  std::string text;
  for (const SessionId id : sessions) text += (text.empty() ? some : ", ") + std::to_string(id);
  return text;
}

/** Adds up to a name of a multiset of sessions, in any order (the finaliser of SplitMix64). */
uint64_t weightOf(SessionId id) {
  uint64_t mixed = (id + 0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
  return mixed ^ (mixed >> 31);
}

void sortUnique(std::vector<SessionId>& sessions) {
  std::sort(sessions.begin(), sessions.end());
  sessions.erase(std::unique(sessions.begin(), sessions.end()), sessions.end());
}

}  // namespace

/** Who should list the block: whom the prefix cache knows as its holders, else its owner. */
std::vector<SessionId> SessionTable::rightfulHolders(BlockId block, const BlockPool::Record& record) const {
  if (prefix_.isKnown(block)) return prefix_.holdersOf(block);
  if (record.state != State::kOwned || record.owner.kind != OwnerKind::kSession) return {};
  return {record.owner.id};
}

/** Empty: all is well with the block but, perhaps, for its listings. */
std::string SessionTable::problemOf(BlockId block, const BlockPool::Record& record) const {
  const int32_t listed = record.state == State::kInFlight ? 1 : 0;
  if (record.listed != listed) {
    return whatItIs(record) + ", and on the list of blocks in flight " + std::to_string(record.listed) + " times";
  }
  const bool known = prefix_.isKnown(block);
  const bool cached = record.state == State::kOwned && record.owner.kind == OwnerKind::kEngine;
  if (!known) return cached ? whatItIs(record) + ", and cannot be found by anybody" : "";
  const std::vector<SessionId> holders = prefix_.holdersOf(block);
  const Owner owner = holders.empty() ? Owner{} : Owner{OwnerKind::kSession, holders.front()};
  if (record.state == State::kOwned && record.owner == owner) return "";
  return whatItIs(record) + ", and should be " + nameOf(owner) + "'s";
}

std::vector<BlockViolation> SessionTable::violations() const {
  const std::vector<BlockPool::Record> records = pool_.records();
  std::vector<uint64_t> listers(records.size());  // sums of their weights: who differs is looked at closely
  for (const auto& [id, session] : sessions_) {
    for (const BlockId block : session->blocks) listers[static_cast<size_t>(block)] += weightOf(id);
  }
  std::map<BlockId, BlockViolation> found;
  for (BlockId block = 0; block < static_cast<BlockId>(records.size()); ++block) {
    const BlockPool::Record& record = records[static_cast<size_t>(block)];
    const std::vector<SessionId> holders = rightfulHolders(block, record);
    uint64_t expected = 0;
    for (const SessionId id : holders) expected += weightOf(id);
    const std::string problem = problemOf(block, record);
    if (problem.empty() && expected == listers[static_cast<size_t>(block)]) continue;
    const std::string which = problem.empty() ? whatItIs(record) : problem;
    found[block] = {block, record.owner, which + listOf("", ", held by session ", holders), holders};
    if (record.owner.kind == OwnerKind::kSession) found[block].sessions.push_back(record.owner.id);
  }
  return found.empty() ? std::vector<BlockViolation>() : withListers(std::move(found));
}

/** Adds to each who lists it. */
std::vector<BlockViolation> SessionTable::withListers(std::map<BlockId, BlockViolation> found) const {
  std::map<BlockId, std::vector<SessionId>> listers;
  for (const auto& [id, session] : sessions_) {
    for (const BlockId block : session->blocks) {
      if (found.contains(block)) listers[block].push_back(id);
    }
  }
  std::vector<BlockViolation> violations;
  for (auto& [block, violation] : found) {
    const std::vector<SessionId>& by = listers[block];
    violation.problem += listOf("; no session lists it", "; listed by session ", by);
    violation.sessions.insert(violation.sessions.end(), by.begin(), by.end());
    sortUnique(violation.sessions);
    violations.push_back(std::move(violation));
  }
  return violations;
}

void SessionTable::isolate(const std::vector<BlockViolation>& violations) {
  std::set<BlockId> blocks;
  for (const BlockViolation& violation : violations) {
    pool_.quarantine(violation.block);
    prefix_.strike(violation.block);
    blocks.insert(violation.block);
  }
  for (const auto& [id, session] : sessions_) {
    const auto isStruck = [&blocks](BlockId block) { return blocks.contains(block); };
    if (std::erase_if(session->blocks, isStruck) == 0) continue;
    session->tokens.clear();
    session->chain.clear();
  }
  std::erase_if(copies_, [&blocks](const BlockMove& move) { return blocks.contains(move.to); });
  recountRunning();
}

void SessionTable::recountRunning() {
  std::fill(runningOn_.begin(), runningOn_.end(), 0);
  runningBlocks_ = runningListings_ = 0;
  for (const auto& [id, session] : sessions_) {
    if (session->running) countRunning(*session, 0, 1);
  }
}

void SessionTable::plantDouble(const Session& session, Session& other) {
  replace(other, other.blocks.size() - 1, session.blocks.back());
}

}  // namespace octavo
