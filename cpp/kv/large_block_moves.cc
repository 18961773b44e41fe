// Compaction where a block is larger than a page. Every few blocks the end of one meets the end of a page: four of 2.25
// pages lie on nine pages that no other touches. Such groups empty into fuller ones, as the pages of small blocks do.
// Where a group would be many blocks, they move one by one to where they use fewer pages alone.
#include <algorithm>

#include "kv/block_pool.h"

namespace octavo {

namespace {

constexpr size_t kHolesTried = 8;

/** A block, and the pages that it uses, or would use, alone. */
struct Candidate {
  int64_t pages;
  BlockId id;
  bool operator<(const Candidate& other) const { return pages != other.pages ? pages < other.pages : id < other.id; }
};

}  // namespace

std::vector<BlockMove> BlockPool::planLargeMoves(int64_t most, bool mayMap) {
  const bool fillPages = static_cast<size_t>(pages_.groupBlocks()) * blockBytes() % kPageBytes == 0;
  return fillPages ? planGroupMoves(most, mayMap) : planSingleMoves(most);
}

/** The emptiest groups into the fullest; all blocks of a group or none. */
std::vector<BlockMove> BlockPool::planGroupMoves(int64_t most, bool mayMap) {
  const std::vector<BlockGroup> groups = partlyUsedGroups();
  std::vector<BlockMove> moves;
  std::vector<BlockId> holes, leaving;
  size_t filling = 0;
  for (size_t emptying = groups.size(); emptying-- > filling + 1;) {
    if (static_cast<int64_t>(moves.size()) + groups[emptying].live > most) break;
    if (!canEmpty(groups[emptying], leaving)) continue;
    while (holes.size() < leaving.size() && filling < emptying) {
      const BlockGroup& into = groups[filling++];
      for (BlockId id = into.first; id < into.end; ++id) {
        if (!pages_.isLive(id) && (pages_.isBacked(id) || (mayMap && mapHole(id)))) holes.push_back(id);
      }
    }
    if (holes.size() < leaving.size()) break;
    for (size_t index = 0; index < leaving.size(); ++index) move(leaving[index], holes[index], moves);
    holes.erase(holes.begin(), holes.begin() + static_cast<int64_t>(leaving.size()));
  }
  return moves;
}

/** A page inside a hole may have been given back, or never mapped. */
bool BlockPool::mapHole(BlockId id) {
  const int64_t first = pages_.firstPage(id);
  return mapFor({id, first, pages_.lastPage(id) + 1 - first});
}

/** The fullest first. O(total). */
std::vector<BlockPool::BlockGroup> BlockPool::partlyUsedGroups() const {
  std::vector<BlockGroup> groups;
  const int64_t size = pages_.groupBlocks();
  for (int64_t first = 0; first < total_; first += size) {
    BlockGroup group{static_cast<BlockId>(first), static_cast<BlockId>(std::min(total_, first + size)), 0};
    for (BlockId id = group.first; id < group.end; ++id) group.live += pages_.isLive(id) ? 1 : 0;
    if (group.live > 0 && group.live < group.end - group.first) groups.push_back(group);
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const BlockGroup& a, const BlockGroup& b) { return a.live > b.live; });
  return groups;
}

/** Pages of a live block that no other is on; of a free one, those that nobody uses. */
int64_t BlockPool::pagesAlone(BlockId id) const {
  const uint32_t own = pages_.isLive(id) ? 1 : 0;
  int64_t alone = 0;
  for (int64_t page = pages_.firstPage(id); page <= pages_.lastPage(id); ++page) alone += pages_.liveOn(page) == own;
  return alone;
}

std::vector<BlockMove> BlockPool::planSingleMoves(int64_t most) {
  std::vector<Candidate> sources, holes;
  for (const int64_t page : pagesByFill()) {
    for (BlockId id = pages_.firstBlock(page); id <= pages_.lastBlock(page); ++id) {
      if (blocks_[id].state == State::kOwned) sources.push_back({-pagesAlone(id), id});
      else if (!pages_.isLive(id) && pages_.isBacked(id)) holes.push_back({pagesAlone(id), id});
    }
  }
  std::sort(sources.begin(), sources.end());  // those that free the most first
  std::sort(holes.begin(), holes.end());      // those that open the fewest first
  std::vector<BlockMove> moves;
  size_t next = 0;  // holes before it are filled, or are no gain any more
  for (const Candidate& source : sources) {
    if (static_cast<int64_t>(moves.size()) >= most) break;
    if (blocks_[source.id].state != State::kOwned) continue;  // listed by two pages, and moved
    while (next < holes.size() && (pages_.isLive(holes[next].id) || pagesAlone(holes[next].id) > holes[next].pages)) {
      ++next;
    }
    const int64_t frees = pagesAlone(source.id);
    const size_t end = std::min(holes.size(), next + kHolesTried);
    for (size_t index = next; index < end; ++index) {
      const BlockId hole = holes[index].id;
      const bool apart = pages_.lastPage(hole) < pages_.firstPage(source.id) ||
                         pages_.firstPage(hole) > pages_.lastPage(source.id);
      if (!apart || pages_.isLive(hole) || pagesAlone(hole) >= frees) continue;
      move(source.id, hole, moves);
      break;
    }
  }
  return moves;
}

}  // namespace octavo
