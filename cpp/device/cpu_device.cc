#include "device/cpu_device.h"

#include <cmath>
#include <cstring>

#include "base/error.h"
#include "device/cpu_graph.h"
#include "device/cpu_stream.h"
#include "device/host_limits.h"
#include "device/host_memory.h"
#include "device/host_range.h"
#include "device/page_mapping.h"
#include "ops/cpu/cpu_ops.h"
#include "ops/ops.h"

namespace octavo {

namespace {

constexpr int kMaxThreads = 1024;
constexpr size_t kUncheckedBytes = 1 << 20;  // smaller requests are not worth reading the system's counters

int checkedThreads(int threads) {
  if (threads < 0 || threads > kMaxThreads) {
    throw Error(ErrorCode::kInvalidArgument, "threads is " + std::to_string(threads) + ": expected 0 (all cores) to " +
        std::to_string(kMaxThreads));
  }
  return threads == 0 ? usableCores() : threads;
}

}  // namespace

DeviceInfo CpuDevice::describe(int threads) {
  DeviceInfo info;
  info.id = "cpu";
  info.name = processorName();
  info.multiprocessors = checkedThreads(threads);
  info.totalBytes = hostMemory().totalBytes;
  return info;
}

CpuDevice::CpuDevice(int threads)
    : info_(describe(threads)), pool_(info_.multiprocessors), ops_(createCpuOps(pool_)) {}

CpuDevice::~CpuDevice() = default;

DeviceMemoryUse CpuDevice::memoryUse() {
  const HostMemory memory = hostMemory();
  return {memory.freeBytes, memory.totalBytes, allocatedBytes_.load()};
}

void* CpuDevice::allocateRaw(size_t bytes) {
  // The kernel promises more than it has: ask before, or the process is killed when the pages are touched.
  if (bytes >= kUncheckedBytes && bytes > hostMemory().freeBytes) return nullptr;
  void* pointer = allocateHost(bytes);
  if (pointer) allocatedBytes_ += bytes;
  return pointer;
}

void CpuDevice::freeRaw(void* pointer, size_t bytes) noexcept {
  if (!pointer) return;
  freeHost(pointer, bytes);
  allocatedBytes_ -= bytes;
}

std::unique_ptr<AddressRange> CpuDevice::reserveAddresses(size_t pages) {
  auto range = isPageMappingAllowed() ? reserveHostRange(pages, allocatedBytes_) : nullptr;
  return range ? std::move(range) : reserveWholeRange(*this, pages);
}

void* CpuDevice::allocatePinnedRaw(size_t bytes) {
  void* const pointer = allocateHost(bytes);
  if (pointer) objects()->add(ObjectKind::kPinned);
  return pointer;
}

void CpuDevice::freePinnedRaw(void* pointer, size_t bytes) noexcept {
  if (!pointer) return;
  freeHost(pointer, bytes);
  objects()->remove(ObjectKind::kPinned);
}

std::unique_ptr<Stream> CpuDevice::createStream() { return std::make_unique<CpuStream>(objects()); }

std::unique_ptr<Stream> CpuDevice::createConcurrentStream() {
  auto queue = std::make_shared<WorkQueue>();
  const std::lock_guard lock(queuesMutex_);
  std::erase_if(queues_, [](const std::weak_ptr<WorkQueue>& one) { return one.expired(); });
  queues_.push_back(queue);
  return std::make_unique<CpuStream>(objects(), std::move(queue));
}

std::unique_ptr<Event> CpuDevice::createEvent() { return std::make_unique<CpuEvent>(objects()); }

std::unique_ptr<Graph> CpuDevice::capture(Stream& stream, const std::function<void()>& record) {
  return captureOnCpu(objects(), cpuStream(stream), record);
}

void CpuDevice::copy(void* to, const void* from, size_t bytes, CopyKind, Stream& stream) {
  if (bytes > 0) cpuStream(stream).run([=] { std::memmove(to, from, bytes); });
}

void CpuDevice::fill(void* to, uint8_t value, size_t bytes, Stream& stream) {
  if (bytes > 0) cpuStream(stream).run([=] { std::memset(to, value, bytes); });
}

void CpuDevice::synchronize() {
  std::vector<std::shared_ptr<WorkQueue>> queues;
  {
    const std::lock_guard lock(queuesMutex_);
    for (const auto& one : queues_) {
      if (auto queue = one.lock()) queues.push_back(std::move(queue));
    }
  }
  for (const auto& queue : queues) queue->waitFor(queue->pushed());
}

void CpuDevice::verifyKernels() {
  float x[] = {1, 2, 3}, weight[] = {1, 0, 0, 0.5f, 0.5f, 0.5f}, out[2] = {};
  const auto stream = createStream();
  ops_->linear({out, DType::kF32, 1, 2, 2}, {x, DType::kF32, 1, 3, 3}, {weight, DType::kF32, 2, 3, 3}, {}, *stream);
  if (out[0] == 1 && out[1] == 3) return;
  throw Error(ErrorCode::kKernelsUnavailable, "the CPU kernels give (" + std::to_string(out[0]) + ", " +
      std::to_string(out[1]) + ") for (1, 3): this build does not fit this processor");
}

}  // namespace octavo
