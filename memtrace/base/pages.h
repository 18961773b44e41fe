// Memory straight from the kernel: the tracer never calls malloc where the traced program may be inside it.
#pragma once

#include <sys/mman.h>

#include <cstddef>

namespace octavo::memtrace {

/** Zeroed memory, or nullptr. */
inline void* takePages(size_t bytes) {
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return pages == MAP_FAILED ? nullptr : pages;
}

inline void givePages(void* pages, size_t bytes) {
  if (pages != nullptr) munmap(pages, bytes);
}

/** Grows `pages`, which may move; nullptr leaves them as they were. */
inline void* growPages(void* pages, size_t bytes, size_t newBytes) {
  if (pages == nullptr) return takePages(newBytes);
  void* grown = mremap(pages, bytes, newBytes, MREMAP_MAYMOVE);
  return grown == MAP_FAILED ? nullptr : grown;
}

}  // namespace octavo::memtrace
