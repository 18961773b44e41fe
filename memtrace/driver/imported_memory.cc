// Memory of another process or another API: it has an address here and its bytes are counted elsewhere.
#include "driver/call.h"
#include "driver/wrappers.h"
#include "trace/tracer.h"

namespace octavo::memtrace {

extern "C" {

Result cuIpcOpenMemHandle(DevicePointer* address, IpcHandle handle, unsigned int flags) {
  const Call call;
  const Result result = call.driver<Entry::cuIpcOpenMemHandle>(address, handle, flags);
  if (call.succeeded(result)) allocated(Kind::kImported, *address, 0);
  return result;
}

Result cuIpcOpenMemHandle_v2(DevicePointer* address, IpcHandle handle, unsigned int flags) {
  const Call call;
  const Result result = call.driver<Entry::cuIpcOpenMemHandle_v2>(address, handle, flags);
  if (call.succeeded(result)) allocated(Kind::kImported, *address, 0);
  return result;
}

Result cuIpcCloseMemHandle(DevicePointer address) {
  const Call call;
  Release release(call.isProgram(), Space::kDevice, address);
  return release.settle(call.driver<Entry::cuIpcCloseMemHandle>(address));
}

Result cuExternalMemoryGetMappedBuffer(DevicePointer* address, ExternalMemory memory, const ExternalBuffer* buffer) {
  const Call call;
  const Result result = call.driver<Entry::cuExternalMemoryGetMappedBuffer>(address, memory, buffer);
  if (call.succeeded(result)) allocated(Kind::kImported, *address, buffer->size);
  return result;
}

Result cuMemPoolImportPointer(DevicePointer* address, MemoryPool pool, void* shared) {
  const Call call;
  const Result result = call.driver<Entry::cuMemPoolImportPointer>(address, pool, shared);
  if (call.succeeded(result)) allocated(Kind::kImported, *address, 0);
  return result;
}

}  // extern "C"

}  // namespace octavo::memtrace
