#include "driver/call.h"
#include "driver/wrappers.h"
#include "trace/tracer.h"

namespace octavo::memtrace {

extern "C" {

Result cuMemAlloc(DevicePointer32* address, unsigned int bytes) {
  const Call call;
  const Result result = call.driver<Entry::cuMemAlloc>(address, bytes);
  if (call.succeeded(result)) allocated(Kind::kDevice, *address, bytes);
  return result;
}

Result cuMemAlloc_v2(DevicePointer* address, size_t bytes) {
  const Call call;
  const Result result = call.driver<Entry::cuMemAlloc_v2>(address, bytes);
  if (call.succeeded(result)) allocated(Kind::kDevice, *address, bytes);
  return result;
}

Result cuMemAllocPitch(DevicePointer32* address, unsigned int* pitch, unsigned int width, unsigned int height,
                       unsigned int element) {
  const Call call;
  const Result result = call.driver<Entry::cuMemAllocPitch>(address, pitch, width, height, element);
  if (call.succeeded(result)) allocated(Kind::kDevice, *address, uint64_t{*pitch} * height);
  return result;
}

Result cuMemAllocPitch_v2(DevicePointer* address, size_t* pitch, size_t width, size_t height, unsigned int element) {
  const Call call;
  const Result result = call.driver<Entry::cuMemAllocPitch_v2>(address, pitch, width, height, element);
  if (call.succeeded(result)) allocated(Kind::kDevice, *address, *pitch * height);
  return result;
}

Result cuMemAllocManaged(DevicePointer* address, size_t bytes, unsigned int flags) {
  const Call call;
  const Result result = call.driver<Entry::cuMemAllocManaged>(address, bytes, flags);
  if (call.succeeded(result)) allocated(Kind::kManaged, *address, bytes);
  return result;
}

Result cuMemFree(DevicePointer32 address) {
  const Call call;
  Release release(call.isProgram(), Space::kDevice, address);
  return release.settle(call.driver<Entry::cuMemFree>(address));
}

Result cuMemFree_v2(DevicePointer address) {
  const Call call;
  Release release(call.isProgram(), Space::kDevice, address);
  return release.settle(call.driver<Entry::cuMemFree_v2>(address));
}

}  // extern "C"

}  // namespace octavo::memtrace
