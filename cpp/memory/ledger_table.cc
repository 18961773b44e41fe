#include "memory/ledger_table.h"

#include <cstring>

#include "base/error.h"

namespace octavo {

namespace {

constexpr uint64_t kGolden = 0x9e3779b97f4a7c15;  // 2⁶⁴ / φ: spreads consecutive ids

uint64_t wordAt(const char* text) {
  uint64_t word;
  std::memcpy(&word, text, sizeof word);
  return word;
}

/** Tags are short: two overlapping words, without a call, cover all of 8 to 16 letters. */
bool isSame(std::string_view left, std::string_view right) {
  const size_t size = left.size();
  if (size != right.size()) return false;
  if (size < 8 || size > 16) return left == right;
  const size_t tail = size - 8;
  return wordAt(left.data()) == wordAt(right.data()) &&
         wordAt(left.data() + tail) == wordAt(right.data() + tail);
}

uint64_t mixed(Region region, const Owner& owner) {
  const uint64_t kind = static_cast<uint64_t>(region) << 8 | static_cast<uint64_t>(owner.kind);
  return (owner.id ^ kind << 48) * kGolden;
}

}  // namespace

bool LedgerTable::Key::is(Region otherRegion, const Owner& otherOwner, std::string_view otherTag) const {
  return region == otherRegion && owner.id == otherOwner.id && owner.kind == otherOwner.kind &&
         isSame(tag, otherTag);
}

size_t LedgerTable::Hash::operator()(const Key& key) const { return mixed(key.region, key.owner) ^ (*this)(key.tag); }

/** Looks at the ends of the tag only: two names in one place cost a look-up, not a mistake. */
size_t LedgerTable::placeOf(Region region, const Owner& owner, std::string_view tag) {
  uint64_t ends = tag.size();
  if (!tag.empty()) {
    ends = ends << 16 ^ static_cast<uint64_t>(static_cast<uint8_t>(tag.front())) << 8 ^
           static_cast<uint8_t>(tag.back());
  }
  return (mixed(region, owner) + ends * kGolden) >> 58;
}

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
