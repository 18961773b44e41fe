#include "machine/shared_memory.h"

#include <sys/mman.h>

#include <cstring>
#include <new>

namespace octavo::emulator {

namespace {

constexpr uint32_t kPage = 4096;

uint32_t wholePages(uint32_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

}  // namespace

SharedWindow::SharedWindow() {
  // One page before and behind; the base on a page, hence on 1024 bytes, so that swizzles by address bits hold.
  void* memory = mmap(nullptr, kWindowBytes + 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  base_ = static_cast<uint8_t*>(memory) + kPage;
  mprotect(base_, kWindowBytes, PROT_READ | PROT_WRITE);
  std::memset(base_ + kStaticOffset, kPoison, kWindowBytes - kStaticOffset);
}

SharedWindow::~SharedWindow() { munmap(base_ - kPage, kWindowBytes + 2 * kPage); }

void SharedWindow::prepare(uint32_t dynamicBytes) {
  if (dynamicBytes != dynamicBytes_) {
    const uint32_t end = wholePages(kDynamicOffset + dynamicBytes), limit = kStaticOffset / kPage * kPage;
    if (end > 0) mprotect(base_, end, PROT_READ | PROT_WRITE);
    if (end < limit) mprotect(base_ + end, limit - end, PROT_NONE);
    dynamicBytes_ = dynamicBytes;
  }
  const uint32_t end = wholePages(kDynamicOffset + dynamicBytes);
  std::memset(base_, kPoison, end < kStaticOffset ? end : kStaticOffset);
  std::memset(base_ + kStaticOffset, kPoison, kWindowBytes - kStaticOffset);
}

bool SharedWindow::isIntact() const {
  const uint32_t end = kDynamicOffset + dynamicBytes_;
  uint32_t limit = wholePages(end);
  if (limit > kStaticOffset) limit = kStaticOffset;
  for (uint32_t i = end; i < limit; ++i) {
    if (base_[i] != kPoison) return false;
  }
  return true;
}

}  // namespace octavo::emulator
