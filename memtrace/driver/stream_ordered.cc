#include "base/clock.h"
#include "driver/call.h"
#include "driver/wrappers.h"
#include "trace/tracer.h"

namespace octavo::memtrace {

extern "C" {

Result cuMemAllocAsync(DevicePointer* address, size_t bytes, Stream stream) {
  const Call call;
  const Result result = call.driver<Entry::cuMemAllocAsync>(address, bytes, stream);
  if (call.succeeded(result)) allocated(Kind::kAsync, *address, bytes, addressOf(stream));
  return result;
}

Result cuMemAllocAsync_ptsz(DevicePointer* address, size_t bytes, Stream stream) {
  const Call call;
  const Result result = call.driver<Entry::cuMemAllocAsync_ptsz>(address, bytes, stream);
  if (call.succeeded(result)) allocated(Kind::kAsync, *address, bytes, addressOf(stream));
  return result;
}

Result cuMemAllocFromPoolAsync(DevicePointer* address, size_t bytes, MemoryPool pool, Stream stream) {
  const Call call;
  const Result result = call.driver<Entry::cuMemAllocFromPoolAsync>(address, bytes, pool, stream);
  if (call.succeeded(result)) allocated(Kind::kAsync, *address, bytes, addressOf(stream));
  return result;
}

Result cuMemAllocFromPoolAsync_ptsz(DevicePointer* address, size_t bytes, MemoryPool pool, Stream stream) {
  const Call call;
  const Result result = call.driver<Entry::cuMemAllocFromPoolAsync_ptsz>(address, bytes, pool, stream);
  if (call.succeeded(result)) allocated(Kind::kAsync, *address, bytes, addressOf(stream));
  return result;
}

Result cuMemFreeAsync(DevicePointer address, Stream stream) {
  const Call call;
  Release release(call.isProgram(), Space::kDevice, address);
  return release.settle(call.driver<Entry::cuMemFreeAsync>(address, stream));
}

Result cuMemFreeAsync_ptsz(DevicePointer address, Stream stream) {
  const Call call;
  Release release(call.isProgram(), Space::kDevice, address);
  return release.settle(call.driver<Entry::cuMemFreeAsync_ptsz>(address, stream));
}

Result cuMemPoolCreate(MemoryPool* pool, const void* properties) {
  const Call call;
  const Result result = call.driver<Entry::cuMemPoolCreate>(pool, properties);
  if (call.succeeded(result)) allocated(Kind::kPool, addressOf(*pool), 0);
  return result;
}

Result cuMemPoolImportFromShareableHandle(MemoryPool* pool, void* handle, int handleType, unsigned long long flags) {
  const Call call;
  const Result result =
      call.driver<Entry::cuMemPoolImportFromShareableHandle>(pool, handle, handleType, flags);
  if (call.succeeded(result)) allocated(Kind::kPool, addressOf(*pool), 0);
  return result;
}

Result cuMemPoolDestroy(MemoryPool pool) {
  const Call call;
  Release release(call.isProgram(), Space::kPool, addressOf(pool));
  return release.settle(call.driver<Entry::cuMemPoolDestroy>(pool));
}

Result cuMemPoolTrimTo(MemoryPool pool, size_t bytes) {
  const Call call;
  const Result result = call.driver<Entry::cuMemPoolTrimTo>(pool, bytes);
  if (call.succeeded(result)) {
    tracer().statistics.trims.fetch_add(1, std::memory_order_relaxed);
    tracer().events.note("trim", addressOf(pool), bytes, now(), tracer().start);
  }
  return result;
}

}  // extern "C"

}  // namespace octavo::memtrace
