// Promises of the emulator, kept or broken, and small kernels to try them by.
#pragma once

#include <cstdio>
#include <string>

#include "machine/machine.h"

namespace octavo::emulator {

inline int broken = 0;

inline void expect(const char* promise, bool kept) {
  std::printf("%s: %s\n", promise, kept ? "kept" : "BROKEN");
  if (!kept) ++broken;
}

/** What went wrong, empty when nothing did. */
template <class Body>
std::string launch(int blocks, int threads, Body body, int cluster = 1, uint32_t bytes = 128 << 10) {
  Launch l;
  l.kernel = "kernel";
  l.grid.x = static_cast<unsigned>(blocks);
  l.block.x = static_cast<unsigned>(threads);
  l.cluster.x = static_cast<unsigned>(cluster);
  l.dynamicBytes = bytes;
  l.body = [](const void* arguments) { (*static_cast<const Body*>(arguments))(); };
  l.arguments = &body;
  return run(l);
}

inline bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace octavo::emulator
