// A device: where tensors live and kernels run. Implementations: CpuDevice, CudaDevice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/address_range.h"
#include "device/graph.h"
#include "device/object_counts.h"

namespace octavo {

class Ops;

/** An ordered queue of device work. The CPU device does it in the call, unless the stream is concurrent. */
class Stream {
 public:
  virtual ~Stream() = default;
  /** Blocks until everything enqueued so far is done; throws kDeviceFailed if any of it failed. */
  virtual void synchronize() = 0;
};

/** A point in a stream's work. */
class Event {
 public:
  virtual ~Event() = default;
  virtual void record(Stream& stream) = 0;
  /** True once the recorded point was passed; true when never recorded. */
  virtual bool query() = 0;
  virtual void synchronize() = 0;
};

struct DeviceInfo {
  std::string id;           // "cpu", "cuda:0"
  std::string name;         // as the driver names it
  int computeMajor = 0;     // CUDA compute capability, 0.0 on the CPU
  int computeMinor = 0;
  int multiprocessors = 0;  // threads on the CPU
  size_t totalBytes = 0;    // memory of the device; cgroup-limited host memory on the CPU
  int driverVersion = 0;    // 13000 for 13.0; 0 on the CPU
};

struct DeviceMemoryUse {
  size_t freeBytes = 0;                 // as the driver (or the kernel) reports it now
  size_t totalBytes = 0;
  std::optional<size_t> processBytes;   // what the driver attributes to this process, if it tells
};

enum class CopyKind { kHostToDevice, kDeviceToHost, kDeviceToDevice };

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceInfo& info() const = 0;
  /** True when device memory is the host's: whoever has a pointer may read and write through it. */
  virtual bool sharesHostMemory() const { return false; }
  virtual DeviceMemoryUse memoryUse() = 0;

  /**
   * Raw memory, at least 256-byte aligned. Only the memory floor calls these. Returns nullptr when the
   * device is out of memory.
   */
  virtual void* allocateRaw(size_t bytes) = 0;
  virtual void freeRaw(void* pointer, size_t bytes) noexcept = 0;
  /**
   * Addresses for `pages` pages, none of them mapped; nullptr when the device cannot reserve that much. Only the
   * memory floor calls it. Where pages cannot be mapped singly (`elastic()` is false) the memory is taken here.
   */
  virtual std::unique_ptr<AddressRange> reserveAddresses(size_t pages) = 0;
  /** Page-locked host memory the device can copy from asynchronously; nullptr when there is none. */
  virtual void* allocatePinnedRaw(size_t bytes) = 0;
  virtual void freePinnedRaw(void* pointer, size_t bytes) noexcept = 0;

  virtual std::unique_ptr<Stream> createStream() = 0;
  /**
   * A stream whose work is done while its caller goes on: every stream of a GPU; on the CPU one with a thread of its
   * own, which must not outlive the device. Throws kOutOfMemory where the system gives none.
   */
  virtual std::unique_ptr<Stream> createConcurrentStream() { return createStream(); }
  virtual std::unique_ptr<Event> createEvent() = 0;

  /**
   * What `record` enqueues on `stream` is recorded, not done. It may neither wait nor ask how far the device is, take
   * no memory, and use no other stream; arguments and addresses stay as they are. Throws kDeviceFailed naming the rule
   * that was broken, and what `record` throws; the stream then works as before.
   */
  virtual std::unique_ptr<Graph> capture(Stream& stream, const std::function<void()>& record) = 0;

  /** Stream-ordered. Asynchronous when the host side is pinned. */
  virtual void copy(void* to, const void* from, size_t bytes, CopyKind kind, Stream& stream) = 0;
  virtual void fill(void* to, uint8_t value, size_t bytes, Stream& stream) = 0;

  /** Blocks until the device has done everything enqueued on any stream; throws kDeviceFailed if any of it failed. */
  virtual void synchronize() = 0;
  /** Its streams, events, graphs and page-locked buffers that are alive. */
  const std::shared_ptr<ObjectCounts>& objects() const { return objects_; }

  /** The kernels of this device. */
  virtual Ops& ops() = 0;

  /**
   * Runs one small kernel and checks its result. Throws kKernelsUnavailable, naming the device's
   * compute capability, the driver and what this build carries, when it cannot.
   */
  virtual void verifyKernels() = 0;

 private:
  std::shared_ptr<ObjectCounts> objects_ = std::make_shared<ObjectCounts>();
};

/** What can be said about CUDA on this machine without failing. */
struct CudaStatus {
  bool built = false;          // this addon carries CUDA code
  int driverVersion = 0;       // 0: no driver
  int runtimeVersion = 0;
  std::string architectures;   // what the build carries, e.g. "sm_80 sm_90a compute_80"
  std::string problem;         // a sentence, empty when at least one device is usable
};

CudaStatus cudaStatus();

/** The CPU first, then every CUDA device. Never throws for a missing driver. */
std::vector<DeviceInfo> listDevices();

/**
 * Opens "cpu", "cuda", "cuda:N" or "auto" (first CUDA device whose kernels run, else the CPU).
 * `threads` applies to the CPU device; 0 = all cores this process may use.
 * Throws kInvalidArgument, kNoCudaBuild, kNoDriver, kNoDevice, kKernelsUnavailable.
 */
std::shared_ptr<Device> openDevice(const std::string& id, int threads = 0);

}  // namespace octavo
