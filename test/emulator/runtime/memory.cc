#include "runtime/memory.h"

#include <cuda_runtime_api.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "runtime/errors.h"
#include "runtime/streams.h"

namespace octavo::emulator {

namespace {

constexpr size_t kHostPage = 4096, kAlignment = 256, kPoisonBytes = 64 << 20;

std::mutex mutex;
size_t used = 0;
struct Allocation {
  uint8_t* addresses;
  size_t reserved, placed;
};
std::map<void*, Allocation> allocations;

size_t roundUp(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

// Poison that costs nothing until it is read or written: pages are copied from this file when they change.
int poisonFile() {
  static const int file = [] {
    const int made = memfd_create("octavo-poison", MFD_CLOEXEC);
    if (made < 0 || ftruncate(made, static_cast<off_t>(kPoisonBytes)) != 0) return -1;
    void* all = mmap(nullptr, kPoisonBytes, PROT_READ | PROT_WRITE, MAP_SHARED, made, 0);
    if (all == MAP_FAILED) return -1;
    std::memset(all, 0xff, kPoisonBytes);
    munmap(all, kPoisonBytes);
    return made;
  }();
  return file;
}

}  // namespace

uint8_t* reserve(size_t bytes) {
  void* at = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return at == MAP_FAILED ? nullptr : static_cast<uint8_t*>(at);
}

void releaseAddresses(uint8_t* at, size_t bytes) { munmap(at, bytes); }

bool place(uint8_t* at, size_t bytes) {
  for (size_t done = 0; done < bytes; done += kPoisonBytes) {
    const size_t part = std::min(kPoisonBytes, bytes - done);
    void* placed = mmap(at + done, part, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE,
                        poisonFile(), 0);
    if (placed == MAP_FAILED) return false;
  }
  return true;
}

void displace(uint8_t* at, size_t bytes) {
  mmap(at, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
}

bool take(size_t bytes) {
  std::lock_guard lock(mutex);
  if (bytes > kDeviceBytes - used) return false;
  used += bytes;
  return true;
}

void giveBack(size_t bytes) {
  std::lock_guard lock(mutex);
  used -= bytes;
}

size_t freeBytes() {
  std::lock_guard lock(mutex);
  return kDeviceBytes - used;
}

uint8_t* allocate(size_t bytes) {
  const size_t counted = roundUp(bytes, kAlignment), placed = roundUp(counted, kHostPage);
  if (bytes > kDeviceBytes || !take(counted)) return nullptr;
  uint8_t* addresses = reserve(placed + kHostPage);
  if (!addresses || !place(addresses, placed)) return nullptr;
  uint8_t* data = addresses + (placed - counted);
  std::lock_guard lock(mutex);
  allocations[data] = {addresses, placed + kHostPage, counted};
  return data;
}

bool release(void* pointer) {
  Allocation found{};
  {
    std::lock_guard lock(mutex);
    const auto at = allocations.find(pointer);
    if (at == allocations.end()) return false;
    found = at->second;
    allocations.erase(at);
    used -= found.placed;
  }
  releaseAddresses(found.addresses, found.reserved);
  return true;
}

}  // namespace octavo::emulator

using namespace octavo::emulator;

extern "C" {

cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  if (!pointer) return report(cudaErrorInvalidValue);
  *pointer = nullptr;
  if (cudaError_t status = refuseInCapture(); status != cudaSuccess) return report(status);
  if (bytes == 0) return cudaSuccess;
  *pointer = allocate(bytes);
  return *pointer ? cudaSuccess : report(cudaErrorMemoryAllocation);
}

cudaError_t cudaFree(void* pointer) {
  return !pointer || release(pointer) ? cudaSuccess : report(cudaErrorInvalidValue);
}

cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t) { return cudaMalloc(pointer, bytes); }
cudaError_t cudaFreeAsync(void* pointer, cudaStream_t) { return cudaFree(pointer); }

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int) {
  *pool = nullptr;
  return cudaSuccess;
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) { return cudaSuccess; }

cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned) {
  if (cudaError_t status = refuseInCapture(); status != cudaSuccess) return report(status);
  void* data = nullptr;
  if (posix_memalign(&data, kHostPage, std::max(bytes, size_t{1})) != 0) return report(cudaErrorMemoryAllocation);
  std::memset(data, 0xff, bytes < (64 << 20) ? bytes : 0);
  *pointer = data;
  return cudaSuccess;
}

cudaError_t cudaFreeHost(void* pointer) {
  std::free(pointer);
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t* available, size_t* total) {
  *available = freeBytes();
  *total = kDeviceBytes;
  return cudaSuccess;
}

}
