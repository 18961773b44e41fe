#include "memory/ledger_table.h"

#include "base/error.h"

namespace octavo {

size_t LedgerTable::Hash::operator()(const Key& key) const { return mixed(key.region, key.owner) ^ (*this)(key.tag); }

LedgerTable::Line* LedgerTable::findAny(const Key& key) {
  const auto found = lines_.find(key);
  if (found == lines_.end()) return nullptr;
  remember(found->second);
  return &found->second;
}

LedgerTable::Line& LedgerTable::create(const Key& key) {
  auto tag = tags_.find(key.tag);
  if (tag == tags_.end()) tag = tags_.emplace(key.tag, 0).first;
  const Key interned{key.region, key.owner, tag->first};
  try {
    Line& line = lines_.emplace(interned, Line{interned, &ledger_}).first->second;
    ++tag->second;
    remember(line);
    return line;
  } catch (...) {
    if (tag->second == 0) tags_.erase(tag);
    throw;
  }
}

void LedgerTable::remember(Line& line) noexcept {
  Line*& place = recent_[placeOf(line.key)];
  Line* const displaced = place;
  if (displaced == &line) return;
  place = &line;
  line.recent = true;
  if (!displaced) return;
  displaced->recent = false;
  settle(*displaced);
}

void LedgerTable::remove(Line& line) noexcept {
  const auto tag = tags_.find(line.key.tag);
  lines_.erase(Key(line.key));
  if (--tag->second == 0) tags_.erase(tag);
}

void LedgerTable::check() const {
  uint64_t carried = 0;
  for (const auto& [tag, lines] : tags_) carried += lines;
  if (carried == lines_.size()) return;
  throw Error(ErrorCode::kInternal, "the ledger's tags are carried by " + std::to_string(carried) +
                                        " lines, and there are " + std::to_string(lines_.size()));
}

}  // namespace octavo
