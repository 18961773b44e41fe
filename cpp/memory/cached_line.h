// The ledger's side of the cached path: bytes go from the cache's line to an owner's, and back.
#pragma once

#include <mutex>

#include "memory/ledger_table.h"

namespace octavo {

/**
 * The same as Ledger::transfer between the cache's line and others, one piece at a time, written to be part of its
 * caller. Private to the caching allocator.
 */
class CachedLine {
 public:
  CachedLine(Ledger& ledger, Region region, std::string_view tag)
      : ledger_(ledger), handle_(ledger.line(region, {}, tag)), line_(lineOf(handle_.line_)) {}

  /** `bytes` become one piece of the owner's line, which the answer keeps. Throws kInternal. */
  void* handOut(const Owner& owner, std::string_view tag, size_t bytes) {
    const std::lock_guard lock(ledger_.lock_);
    return handOutLocked(owner, tag, bytes);
  }
  /** The way back. Throws kInternal, and keeps the line as it was. */
  void takeBack(void* held, size_t bytes) {
    const std::lock_guard lock(ledger_.lock_);
    takeBackLocked(held, bytes);
  }

  /** The same for those who have the ledger's lock. */
  SpinLock& lock() { return ledger_.lock_; }
  void* handOutLocked(const Owner& owner, std::string_view tag, size_t bytes) {
    if (line_.bytes < bytes) [[unlikely]] ledger_.refuse(&line_, bytes, 0);
    LedgerTable::Line& line = ledger_.table_->at(line_.key.region, owner, tag);
    if (&line != &line_) [[likely]] {
      line.put(bytes, 1);
      line_.take(bytes, 0);
    }
    ++line.handles;
    return &line;
  }
  void takeBackLocked(void* held, size_t bytes) {
    LedgerTable::Line& line = lineOf(held);
    if (&line != &line_) [[likely]] {
      if (line.bytes < bytes || line.count == 0) [[unlikely]] ledger_.refuse(&line, bytes, 1);
      line_.put(bytes, 0);
      line.take(bytes, 1);
    }
    --line.handles;
    ledger_.table_->settle(line);
  }
  static Owner ownerOf(const void* held) { return lineOf(held).key.owner; }
  static std::string_view tagOf(const void* held) { return lineOf(held).key.tag; }

 private:
  static LedgerTable::Line& lineOf(void* line) { return *static_cast<LedgerTable::Line*>(line); }
  static const LedgerTable::Line& lineOf(const void* line) { return *static_cast<const LedgerTable::Line*>(line); }

  Ledger& ledger_;
  LineHandle handle_;
  LedgerTable::Line& line_;
};

}  // namespace octavo
