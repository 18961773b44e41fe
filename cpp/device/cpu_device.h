// The host as a device: work runs in the call, or beside it where a stream is concurrent, on a pool of threads.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "base/thread_pool.h"
#include "device/device.h"
#include "device/work_queue.h"

namespace octavo {

class CpuDevice final : public Device {
 public:
  /** `threads` 0 = every core this process may use. Throws kInvalidArgument outside 0 … 1024. */
  explicit CpuDevice(int threads);
  ~CpuDevice() override;

  /** What a CpuDevice with that many threads would say of itself. */
  static DeviceInfo describe(int threads);

  const DeviceInfo& info() const override { return info_; }
  bool sharesHostMemory() const override { return true; }
  /** processBytes: device memory handed out and not yet given back. */
  DeviceMemoryUse memoryUse() override;

  void* allocateRaw(size_t bytes) override;
  void freeRaw(void* pointer, size_t bytes) noexcept override;
  std::unique_ptr<AddressRange> reserveAddresses(size_t pages) override;
  void* allocatePinnedRaw(size_t bytes) override;
  void freePinnedRaw(void* pointer, size_t bytes) noexcept override;

  std::unique_ptr<Stream> createStream() override;
  std::unique_ptr<Stream> createConcurrentStream() override;
  std::unique_ptr<Event> createEvent() override;
  std::unique_ptr<Graph> capture(Stream& stream, const std::function<void()>& record) override;
  void copy(void* to, const void* from, size_t bytes, CopyKind kind, Stream& stream) override;
  void fill(void* to, uint8_t value, size_t bytes, Stream& stream) override;

  void synchronize() override;
  Ops& ops() override { return *ops_; }
  void verifyKernels() override;

 private:
  DeviceInfo info_;
  ThreadPool pool_;
  std::unique_ptr<Ops> ops_;
  std::atomic<size_t> allocatedBytes_{0};
  std::mutex queuesMutex_;
  std::vector<std::weak_ptr<WorkQueue>> queues_;  // of the concurrent streams
};

}  // namespace octavo
