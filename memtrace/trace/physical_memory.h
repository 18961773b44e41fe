// Physical memory of cuMemCreate: it lives while a handle or a mapping refers to it ("CUDA Driver API", 6.14,
// cuMemRelease: the memory is freed when all outstanding mappings are unmapped and all references released).
#pragma once

#include "base/hash_map.h"
#include "base/list.h"
#include "base/spin_lock.h"
#include "driver/types.h"
#include "trace/allocation.h"

namespace octavo::memtrace {

/**
 * Callers hold `lock()` around each call, and around the driver's cuMemRelease and cuMemUnmap with it: a handle or an
 * address may be handed out again before the driver's call has returned.
 */
class PhysicalMemory {
 public:
  SpinLock& lock() { return lock_; }

  /** A handle of memory just made or imported. */
  bool created(MemoryHandle handle, const Allocation& allocation);
  /** One more reference to the memory mapped at `address`; false when that is not known. */
  bool retained(MemoryHandle handle, DevicePointer address);
  /** One reference less; true with the allocation when the memory is gone. `known` tells whether the handle was. */
  bool released(MemoryHandle handle, Allocation* gone, bool* known);
  bool mapped(DevicePointer address, size_t bytes, MemoryHandle handle);

  /** Takes out the next mapping that begins in the range; true with the allocation when its memory is gone. */
  enum class Unmapped { kNone, kOne, kGone };
  Unmapped unmappedNext(DevicePointer address, size_t bytes, Allocation* gone);

  template <typename Visit>
  void forEach(Visit visit) {
    memory_.forEach([&](uint64_t, const Memory& memory) { visit(memory.allocation); });
  }

  /** For the child of a fork. */
  void abandon();

 private:
  struct Memory {
    Allocation allocation;
    uint64_t handle;
    uint32_t references;
    uint32_t mappings;
  };
  struct Mapping {
    DevicePointer address;
    uint64_t memory;
  };

  /** 0 is no key of a map. */
  static uint64_t keyOf(MemoryHandle handle) { return handle + 1; }

  size_t firstFrom(DevicePointer address) const;
  bool endIfUnused(uint64_t id, Memory* memory, Allocation* gone);

  SpinLock lock_;
  /** Handle values return after release, so memory has a number of its own: the sequence of its allocation. */
  HashMap<Memory> memory_;
  HashMap<uint64_t> byHandle_;
  List<Mapping> mappings_;
};

}  // namespace octavo::memtrace
