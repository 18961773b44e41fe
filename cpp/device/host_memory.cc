#include "device/host_memory.h"

#include <cstdlib>

#if defined(_WIN32)
#include <malloc.h>
#else
#include <sys/mman.h>
#endif

namespace octavo {

namespace {

constexpr size_t kAlignment = 256;

#if !defined(_WIN32)
constexpr size_t kMappedBytes = 1 << 20;  // from here on, freeing gives the pages back to the system at once

void* mapPages(size_t bytes) {
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return nullptr;
#if defined(MADV_HUGEPAGE)
  madvise(pages, bytes, MADV_HUGEPAGE);  // weights are read end to end: fewer TLB misses
#endif
  return pages;
}
#endif

}  // namespace

void* allocateHost(size_t bytes) noexcept {
  const size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (rounded < bytes) return nullptr;
#if defined(_WIN32)
  return _aligned_malloc(rounded, kAlignment);
#else
  if (bytes >= kMappedBytes) return mapPages(bytes);
  void* pointer = nullptr;
  return posix_memalign(&pointer, kAlignment, rounded) == 0 ? pointer : nullptr;
#endif
}

void freeHost(void* pointer, size_t bytes) noexcept {
  if (!pointer) return;
#if defined(_WIN32)
  (void)bytes;
  _aligned_free(pointer);
#else
  if (bytes >= kMappedBytes) munmap(pointer, bytes);
  else std::free(pointer);
#endif
}

}  // namespace octavo
