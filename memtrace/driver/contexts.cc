// Contexts: what was made in one goes with it ("CUDA Driver API", 6.8 cuCtxDestroy, 6.7 cuDevicePrimaryCtxReset).
#include "driver/call.h"
#include "driver/context.h"
#include "driver/wrappers.h"
#include "trace/tracer.h"

namespace octavo::memtrace {

namespace {

Result made(const Call& call, Result result, Context* context) {
  if (call.succeeded(result)) allocated(Kind::kContext, addressOf(*context), 0);
  return result;
}

/** `release` has taken the context's own record; its contents follow. */
Result destroyed(const Call& call, Release& release, Result result, Context context) {
  release.settle(result);
  if (call.succeeded(result)) contextEnded(addressOf(context));
  return result;
}

Result resetPrimary(const Call& call, Result result, Device device) {
  if (call.succeeded(result)) contextEnded(primaryContext(device));
  return result;
}

/** A release ends the primary context only when it was the last. */
Result releasedPrimary(const Call& call, Result result, Device device) {
  if (call.succeeded(result) && !isPrimaryActive(device)) contextEnded(primaryContext(device));
  return result;
}

}  // namespace

extern "C" {

Result cuCtxCreate(Context* context, unsigned int flags, Device device) {
  const Call call;
  return made(call, call.driver<Entry::cuCtxCreate>(context, flags, device), context);
}

Result cuCtxCreate_v2(Context* context, unsigned int flags, Device device) {
  const Call call;
  return made(call, call.driver<Entry::cuCtxCreate_v2>(context, flags, device), context);
}

Result cuCtxCreate_v3(Context* context, void* affinity, int count, unsigned int flags, Device device) {
  const Call call;
  return made(call, call.driver<Entry::cuCtxCreate_v3>(context, affinity, count, flags, device), context);
}

Result cuCtxCreate_v4(Context* context, void* parameters, unsigned int flags, Device device) {
  const Call call;
  return made(call, call.driver<Entry::cuCtxCreate_v4>(context, parameters, flags, device), context);
}

Result cuCtxDestroy(Context context) {
  const Call call;
  Release release(call.isProgram(), Space::kContext, addressOf(context));
  return destroyed(call, release, call.driver<Entry::cuCtxDestroy>(context), context);
}

Result cuCtxDestroy_v2(Context context) {
  const Call call;
  Release release(call.isProgram(), Space::kContext, addressOf(context));
  return destroyed(call, release, call.driver<Entry::cuCtxDestroy_v2>(context), context);
}

Result cuDevicePrimaryCtxRetain(Context* context, Device device) {
  const Call call;
  const Result result = call.driver<Entry::cuDevicePrimaryCtxRetain>(context, device);
  if (result == kSuccess) rememberPrimary(device, addressOf(*context));
  return result;
}

Result cuDevicePrimaryCtxRelease(Device device) {
  const Call call;
  return releasedPrimary(call, call.driver<Entry::cuDevicePrimaryCtxRelease>(device), device);
}

Result cuDevicePrimaryCtxRelease_v2(Device device) {
  const Call call;
  return releasedPrimary(call, call.driver<Entry::cuDevicePrimaryCtxRelease_v2>(device), device);
}

Result cuDevicePrimaryCtxReset(Device device) {
  const Call call;
  return resetPrimary(call, call.driver<Entry::cuDevicePrimaryCtxReset>(device), device);
}

Result cuDevicePrimaryCtxReset_v2(Device device) {
  const Call call;
  return resetPrimary(call, call.driver<Entry::cuDevicePrimaryCtxReset_v2>(device), device);
}

}  // extern "C"

}  // namespace octavo::memtrace
