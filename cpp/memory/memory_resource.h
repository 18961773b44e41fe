// The one shape of everything that gives out memory: resources, and adaptors that stand on another one.
#pragma once

#include <cstddef>
#include <string_view>

#include "device/device.h"
#include "memory/ledger.h"

namespace octavo {

/**
 * Gives out memory and takes it back. An adaptor is a resource over an `upstream`, which must outlive it, and adds one
 * behaviour: a limit, counters, a table of what is live, failures on purpose, an alignment. They stack in any order.
 * Thread-safe, each of them.
 */
class MemoryResource {
 public:
  virtual ~MemoryResource() = default;
  /**
   * At least 256-byte aligned, contents undefined, for work enqueued on `stream` from now on (nullptr: for work that
   * the host waits for). Throws kOutOfMemory with the numbers on both sides, kInvalidArgument for 0 bytes.
   */
  virtual void* allocate(size_t bytes, Stream* stream, const Owner& owner, std::string_view tag) = 0;
  /** Takes back what `allocate` gave for as many bytes; work already enqueued on `stream` may still use it. */
  virtual void deallocate(void* data, size_t bytes, Stream* stream) noexcept = 0;
};

}  // namespace octavo
