#include <mutex>
#include <utility>

#include "memory/ledger_table.h"

namespace octavo {

namespace {

const LedgerTable::Line& lineOf(const void* line) { return *static_cast<const LedgerTable::Line*>(line); }

}  // namespace

LineHandle& LineHandle::operator=(LineHandle&& other) noexcept {
  if (this == &other) return *this;
  release();
  line_ = std::exchange(other.line_, nullptr);
  return *this;
}

Region LineHandle::region() const { return lineOf(line_).key.region; }

Owner LineHandle::owner() const { return lineOf(line_).key.owner; }

std::string_view LineHandle::tag() const { return lineOf(line_).key.tag; }

void LineHandle::release() noexcept {
  if (line_) lineOf(line_).ledger->drop(std::exchange(line_, nullptr));
}

void Ledger::drop(void* line) noexcept {
  const std::lock_guard lock(lock_);
  auto& dropped = *static_cast<LedgerTable::Line*>(line);
  --dropped.handles;
  table_->settle(dropped);
}

}  // namespace octavo
