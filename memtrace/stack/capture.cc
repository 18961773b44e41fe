#include "stack/capture.h"

#include <execinfo.h>

#include "elf/own_code.h"
#include "stack/python.h"
#include "stack/walk.h"
#include "trace/settings.h"

namespace octavo::memtrace {

namespace {

constexpr int kOwnFrames = 12;

/** By libgcc's unwinder, which knows code that was registered while it ran and expressions in tables. */
void captureByUnwinder(Frames* frames, int maximum) {
  void* found[kMaximumFrames + kOwnFrames];
  const int count = backtrace(found, maximum + kOwnFrames);
  for (int index = 0; index < count && frames->count < maximum; index++) {
    const auto address = reinterpret_cast<uintptr_t>(found[index]);
    if (!isOwnCode(address)) frames->add(address);
  }
}

}  // namespace

void prepareCapture() {
  void* frames[2];
  backtrace(frames, 2);  // glibc loads libgcc_s on the first call
}

namespace {

void captureNative(int maximum, Frames* frames) {
  const WalkEnd end = walkStack(maximum, frames);
  if (end.reason != WalkEnd::kUnknownCode) return;
  Frames other;
  captureByUnwinder(&other, maximum);
  if (other.count > frames->count) *frames = other;
  else endWalksAt(end.address);
}

}  // namespace

void captureStack(Frames* frames) {
  captureNative(settings().frames, frames);
  if (settings().pythonFrames > 0) capturePython(settings().pythonFrames, frames);
}

}  // namespace octavo::memtrace
