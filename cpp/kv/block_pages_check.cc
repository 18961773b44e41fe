// The integrity check of BlockPages: every page counted anew.
#include "base/error.h"
#include "kv/block_pages.h"

namespace octavo {

namespace {

[[noreturn]] void disagree(const std::string& what, int64_t counted, int64_t held) {
  throw Error(ErrorCode::kInternal, "KV pages: " + what + ": counted " + std::to_string(counted) + ", held " +
                                        std::to_string(held));
}

void require(const std::string& what, int64_t counted, int64_t held) {
  if (counted != held) disagree(what, counted, held);
}

}  // namespace

void BlockPages::check() const {
  range_.check();
  int64_t live = 0, backed = 0, used = 0;
  for (BlockId block = 0; block < blocks(); ++block) {
    const bool isWhole = isBacked(block);
    if (live_[block] && !isWhole) disagree("pages of live block " + std::to_string(block) + " that are mapped", 0, 1);
    live += live_[block];
    backed += isWhole;
  }
  size_t onLists = 0;
  for (int64_t page = 0; page < pages(); ++page) {
    checkPage(page, onLists);
    used += isUsed(page);
  }
  require("live blocks", live, liveBlocks_);
  require("backed blocks", backed, backed_);
  require("used pages", used, used_);
  require("cached pages", mappedPages() - used, cached_.pages());
  require("unmapped pages", pages() - mappedPages(), unmapped_.pages());
  size_t linked = 0;
  for (const int64_t head : heads_) {
    for (int64_t page = head; page >= 0; page = pages_[page].next) ++linked;
  }
  require("pages on the lists", static_cast<int64_t>(linked), static_cast<int64_t>(onLists));
}

void BlockPages::checkPage(int64_t page, size_t& listed) const {
  const Page& state = pages_[page];
  const std::string name = "page " + std::to_string(page);
  uint32_t live = 0, open = 0;
  for (BlockId block = firstBlock(page); block <= lastBlock(page) && block < blocks(); ++block) {
    live += live_[block];
    open += !live_[block] && isBacked(block);
  }
  require(name + ", live blocks", live, state.live);
  require(name + ", free blocks", open, state.open);
  require(name + " on a list", live > 0 && open > 0, state.listed);
  require(name + " cached", isMapped(page) && live == 0, cached_.find(page).count > 0);
  require(name + " unmapped", !isMapped(page), unmapped_.find(page).count > 0);
  listed += state.listed;
}

}  // namespace octavo
