#include "driver/call.h"
#include "driver/wrappers.h"
#include "trace/tracer.h"

namespace octavo::memtrace {

namespace {

void keepHandle(Kind kind, MemoryHandle handle, uint64_t bytes) {
  const Allocation allocation = recordHere(kind, handle, bytes, 0);
  auto& physical = tracer().physical;
  const Hold hold(physical.lock());
  if (physical.created(handle, allocation)) began(allocation);
  else tracer().statistics.lost++;
}

}  // namespace

extern "C" {

Result cuMemCreate(MemoryHandle* handle, size_t bytes, const void* properties, unsigned long long flags) {
  const Call call;
  const Result result = call.driver<Entry::cuMemCreate>(handle, bytes, properties, flags);
  if (call.succeeded(result)) keepHandle(Kind::kPhysical, *handle, bytes);
  return result;
}

Result cuMemImportFromShareableHandle(MemoryHandle* handle, void* shared, int handleType) {
  const Call call;
  const Result result = call.driver<Entry::cuMemImportFromShareableHandle>(handle, shared, handleType);
  if (call.succeeded(result)) keepHandle(Kind::kImported, *handle, 0);
  return result;
}

/** A multicast object is a handle and no memory; cuMemRelease takes it back. */
Result cuMulticastCreate(MemoryHandle* handle, const void* properties) {
  const Call call;
  const Result result = call.driver<Entry::cuMulticastCreate>(handle, properties);
  if (call.succeeded(result)) keepHandle(Kind::kImported, *handle, 0);
  return result;
}

Result cuMemRetainAllocationHandle(MemoryHandle* handle, void* address) {
  const Call call;
  auto& physical = tracer().physical;
  const Result result = call.driver<Entry::cuMemRetainAllocationHandle>(handle, address);
  if (!call.succeeded(result)) return result;
  const Hold hold(physical.lock());
  physical.retained(*handle, addressOf(address));
  return result;
}

Result cuMemRelease(MemoryHandle handle) {
  const Call call;
  if (!call.isProgram()) return call.driver<Entry::cuMemRelease>(handle);
  auto& physical = tracer().physical;
  Result result;
  bool known = false;
  {
    const Hold hold(physical.lock());
    Allocation gone;
    result = call.driver<Entry::cuMemRelease>(handle);
    if (result == kSuccess && physical.released(handle, &gone, &known)) ended(gone);
  }
  if (!known) freedUnknown(Kind::kPhysical, handle, result);
  return result;
}

Result cuMemMap(DevicePointer address, size_t bytes, size_t offset, MemoryHandle handle, unsigned long long flags) {
  const Call call;
  const Result result = call.driver<Entry::cuMemMap>(address, bytes, offset, handle, flags);
  if (!call.succeeded(result)) return result;
  auto& physical = tracer().physical;
  const Hold hold(physical.lock());
  if (!physical.mapped(address, bytes, handle)) tracer().statistics.lost++;
  return result;
}

Result cuMemUnmap(DevicePointer address, size_t bytes) {
  const Call call;
  if (!call.isProgram()) return call.driver<Entry::cuMemUnmap>(address, bytes);
  auto& physical = tracer().physical;
  const Hold hold(physical.lock());
  const Result result = call.driver<Entry::cuMemUnmap>(address, bytes);
  if (result != kSuccess) return result;
  Allocation gone;
  for (;;) {
    const auto unmapped = physical.unmappedNext(address, bytes, &gone);
    if (unmapped == PhysicalMemory::Unmapped::kNone) return result;
    if (unmapped == PhysicalMemory::Unmapped::kGone) ended(gone);
  }
}

}  // extern "C"

}  // namespace octavo::memtrace
