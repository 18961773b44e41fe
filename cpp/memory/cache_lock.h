// The lock of a caching allocator: the ledger's own while a section is brief, so that the cached path takes one lock.
#pragma once

#include "base/spin_lock.h"

namespace octavo {

/**
 * `lock` and `unlock` are for sections that may wait for the device, or change the ledger by its methods: nobody else
 * enters, and the ledger stays free. A BriefSection holds the ledger's lock itself. Not recursive.
 */
class CacheLock {
 public:
  explicit CacheLock(SpinLock& ledger) : ledger_(ledger) {}

  void lock() noexcept {
    enter();
    taken_ = true;
    ledger_.unlock();
  }
  void unlock() noexcept {
    ledger_.lock();
    taken_ = false;
    ledger_.unlock();
  }

 private:
  friend class BriefSection;
  /** Takes the ledger's lock while nobody is in a section. */
  void enter() noexcept {
    ledger_.lock();
    if (taken_) [[unlikely]] awaitTurn();
  }
  void awaitTurn() noexcept {
    for (int looks = 0; taken_; ++looks) {
      ledger_.unlock();
      if (looks > 100) std::this_thread::sleep_for(std::chrono::microseconds(50));
      else std::this_thread::yield();
      ledger_.lock();
    }
  }

  SpinLock& ledger_;
  bool taken_ = false;  // guarded by the ledger's lock
};

/** Calls no method of the ledger and waits for nothing, until `prolong` makes a section as by `lock` of it. */
class BriefSection {
 public:
  explicit BriefSection(CacheLock& lock) noexcept : lock_(lock) { lock_.enter(); }
  ~BriefSection() {
    if (brief_) [[likely]] lock_.ledger_.unlock();
    else lock_.unlock();
  }
  BriefSection(const BriefSection&) = delete;
  BriefSection& operator=(const BriefSection&) = delete;
  void prolong() noexcept {
    brief_ = false;
    lock_.taken_ = true;
    lock_.ledger_.unlock();
  }

 private:
  CacheLock& lock_;
  bool brief_ = true;
};

}  // namespace octavo
