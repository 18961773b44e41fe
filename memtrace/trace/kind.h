// What is counted: kinds of memory and of driver objects.
#pragma once

#include <cstddef>
#include <cstdint>

namespace octavo::memtrace {

enum class Kind : uint8_t {
  kDevice,      // cuMemAlloc, cuMemAllocPitch
  kManaged,     // cuMemAllocManaged
  kAsync,       // cuMemAllocAsync, cuMemAllocFromPoolAsync
  kPhysical,    // cuMemCreate
  kImported,    // another process's or another API's memory: cuIpcOpenMemHandle and the like
  kPinned,      // cuMemHostAlloc, cuMemAllocHost
  kRegistered,  // cuMemHostRegister
  kStream,
  kEvent,
  kGraph,  // an instantiated graph
  kPool,   // cuMemPoolCreate
  kContext,
};
constexpr size_t kKinds = 12;

/** Addresses are unique within a space: a free finds its allocation by space and address. */
enum class Space : uint8_t { kDevice = 1, kPinned, kRegistered, kStream, kEvent, kGraph, kPool, kContext };

struct KindTraits {
  /** As it stands in reports. */
  const char* name;
  Space space;
  /** Bytes of the device itself: these make the peak. */
  bool onDevice;
  /** A driver object without a size of its own. */
  bool isObject;
  /** Goes when the context goes in which it was made. */
  bool endsWithContext;
};

/** Physical memory is kept in a table of its own (trace/physical_memory.h); its space here is only nominal. */
constexpr KindTraits kKindTraits[kKinds] = {
    {"device", Space::kDevice, true, false, true},
    {"managed", Space::kDevice, true, false, true},
    {"async", Space::kDevice, true, false, true},
    {"physical", Space::kDevice, true, false, false},
    {"imported", Space::kDevice, false, false, true},
    {"pinned", Space::kPinned, false, false, true},
    {"registered", Space::kRegistered, false, false, true},
    {"stream", Space::kStream, false, true, true},
    {"event", Space::kEvent, false, true, true},
    {"graph", Space::kGraph, false, true, true},
    {"pool", Space::kPool, false, true, false},
    {"context", Space::kContext, false, true, false},
};

constexpr const KindTraits& traitsOf(Kind kind) { return kKindTraits[static_cast<size_t>(kind)]; }

}  // namespace octavo::memtrace
