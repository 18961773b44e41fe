#include "driver/call.h"
#include "driver/wrappers.h"
#include "trace/tracer.h"

namespace octavo::memtrace {

extern "C" {

Result cuMemAllocHost(void** address, unsigned int bytes) {
  const Call call;
  const Result result = call.driver<Entry::cuMemAllocHost>(address, bytes);
  if (call.succeeded(result)) allocated(Kind::kPinned, addressOf(*address), bytes);
  return result;
}

Result cuMemAllocHost_v2(void** address, size_t bytes) {
  const Call call;
  const Result result = call.driver<Entry::cuMemAllocHost_v2>(address, bytes);
  if (call.succeeded(result)) allocated(Kind::kPinned, addressOf(*address), bytes);
  return result;
}

Result cuMemHostAlloc(void** address, size_t bytes, unsigned int flags) {
  const Call call;
  const Result result = call.driver<Entry::cuMemHostAlloc>(address, bytes, flags);
  if (call.succeeded(result)) allocated(Kind::kPinned, addressOf(*address), bytes);
  return result;
}

Result cuMemFreeHost(void* address) {
  const Call call;
  Release release(call.isProgram(), Space::kPinned, addressOf(address));
  return release.settle(call.driver<Entry::cuMemFreeHost>(address));
}

Result cuMemHostRegister(void* address, size_t bytes, unsigned int flags) {
  const Call call;
  const Result result = call.driver<Entry::cuMemHostRegister>(address, bytes, flags);
  if (call.succeeded(result)) allocated(Kind::kRegistered, addressOf(address), bytes);
  return result;
}

Result cuMemHostRegister_v2(void* address, size_t bytes, unsigned int flags) {
  const Call call;
  const Result result = call.driver<Entry::cuMemHostRegister_v2>(address, bytes, flags);
  if (call.succeeded(result)) allocated(Kind::kRegistered, addressOf(address), bytes);
  return result;
}

Result cuMemHostUnregister(void* address) {
  const Call call;
  Release release(call.isProgram(), Space::kRegistered, addressOf(address));
  return release.settle(call.driver<Entry::cuMemHostUnregister>(address));
}

}  // extern "C"

}  // namespace octavo::memtrace
