#include "driver/call.h"
#include "driver/wrappers.h"
#include "trace/tracer.h"

namespace octavo::memtrace {

extern "C" {

Result cuStreamCreate(Stream* stream, unsigned int flags) {
  const Call call;
  const Result result = call.driver<Entry::cuStreamCreate>(stream, flags);
  if (call.succeeded(result)) allocated(Kind::kStream, addressOf(*stream), 0);
  return result;
}

Result cuStreamCreateWithPriority(Stream* stream, unsigned int flags, int priority) {
  const Call call;
  const Result result = call.driver<Entry::cuStreamCreateWithPriority>(stream, flags, priority);
  if (call.succeeded(result)) allocated(Kind::kStream, addressOf(*stream), 0);
  return result;
}

Result cuGreenCtxStreamCreate(Stream* stream, GreenContext context, unsigned int flags, int priority) {
  const Call call;
  const Result result = call.driver<Entry::cuGreenCtxStreamCreate>(stream, context, flags, priority);
  if (call.succeeded(result)) allocated(Kind::kStream, addressOf(*stream), 0);
  return result;
}

Result cuStreamDestroy(Stream stream) {
  const Call call;
  Release release(call.isProgram(), Space::kStream, addressOf(stream));
  return release.settle(call.driver<Entry::cuStreamDestroy>(stream));
}

Result cuStreamDestroy_v2(Stream stream) {
  const Call call;
  Release release(call.isProgram(), Space::kStream, addressOf(stream));
  return release.settle(call.driver<Entry::cuStreamDestroy_v2>(stream));
}

Result cuEventCreate(Event* event, unsigned int flags) {
  const Call call;
  const Result result = call.driver<Entry::cuEventCreate>(event, flags);
  if (call.succeeded(result)) allocated(Kind::kEvent, addressOf(*event), 0);
  return result;
}

Result cuIpcOpenEventHandle(Event* event, IpcHandle handle) {
  const Call call;
  const Result result = call.driver<Entry::cuIpcOpenEventHandle>(event, handle);
  if (call.succeeded(result)) allocated(Kind::kEvent, addressOf(*event), 0);
  return result;
}

Result cuEventDestroy(Event event) {
  const Call call;
  Release release(call.isProgram(), Space::kEvent, addressOf(event));
  return release.settle(call.driver<Entry::cuEventDestroy>(event));
}

Result cuEventDestroy_v2(Event event) {
  const Call call;
  Release release(call.isProgram(), Space::kEvent, addressOf(event));
  return release.settle(call.driver<Entry::cuEventDestroy_v2>(event));
}

}  // extern "C"

}  // namespace octavo::memtrace
