#include "stack/capture.h"

#include <execinfo.h>

#include "elf/own_code.h"
#include "trace/settings.h"

namespace octavo::memtrace {

namespace {

constexpr int kOwnFrames = 12;

}  // namespace

void prepareCapture() {
  void* frames[2];
  backtrace(frames, 2);  // glibc loads libgcc_s on the first call
}

void captureStack(Frames* frames) {
  void* found[kMaximumFrames + kOwnFrames];
  const int count = backtrace(found, settings().frames + kOwnFrames);
  for (int index = 0; index < count && frames->count < settings().frames; index++) {
    if (!isOwnCode(reinterpret_cast<uintptr_t>(found[index]))) frames->add(reinterpret_cast<uintptr_t>(found[index]));
  }
}

}  // namespace octavo::memtrace
