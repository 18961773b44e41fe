#include "memory/ledger_table.h"

#include "base/error.h"

namespace octavo {

namespace {

constexpr uint64_t kGolden = 0x9e3779b97f4a7c15;  // 2⁶⁴ / φ: spreads consecutive ids

uint64_t mixed(const LedgerTable::Key& key) {
  const uint64_t kind = static_cast<uint64_t>(key.region) << 8 | static_cast<uint64_t>(key.owner.kind);
  return (key.owner.id ^ kind << 48) * kGolden;
}

}  // namespace

size_t LedgerTable::Hash::operator()(const Key& key) const { return mixed(key) ^ (*this)(key.tag); }

/** Looks at the ends of the tag only: two names in one place cost a look-up, not a mistake. */
size_t LedgerTable::placeOf(const Key& key) {
  uint64_t tag = key.tag.size();
  if (!key.tag.empty()) {
    tag = tag << 16 ^ static_cast<uint64_t>(static_cast<uint8_t>(key.tag.front())) << 8 ^
          static_cast<uint8_t>(key.tag.back());
  }
  return (mixed(key) + tag * kGolden) >> 58;
}

LedgerTable::Line& LedgerTable::at(const Key& key) {
  Line* const line = find(key);
  return line ? *line : create(key);
}

LedgerTable::Line* LedgerTable::find(const Key& key) {
  Line* const recent = recent_[placeOf(key)];
  if (recent && recent->key == key) return recent;
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
    Line& line = lines_.emplace(interned, Line{interned}).first->second;
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

void LedgerTable::settle(Line& line) noexcept {
  if (!line.isEmpty() || line.handles > 0 || line.recent) return;
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
