// Compaction where a block is larger than a page: emptying a page never has a hole to go to that opens none, so blocks
// move one by one to where they use fewer pages alone.
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
