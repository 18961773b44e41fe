#include "binding/ops_upload.h"

namespace octavo {

Upload::~Upload() {
  if (allocations_.empty()) return;
  try {
    device_.stream->synchronize();
  } catch (...) {  // the op's own call reports a failed device
  }
}

void* Upload::allocate(size_t bytes) {
  if (bytes == 0) return nullptr;
  allocations_.push_back(device_.allocate(bytes, "ops.arguments"));
  return allocations_.back().data();
}

void* Upload::zeros(size_t bytes) {
  void* at = allocate(bytes);
  if (at) device_.device().fill(at, 0, bytes, *device_.stream);
  return at;
}

void* Upload::copyBytes(const void* from, size_t bytes) {
  void* to = allocate(bytes);
  if (to) device_.device().copy(to, from, bytes, CopyKind::kHostToDevice, *device_.stream);
  return to;
}

void Upload::fetchBytes(void* to, const void* from, size_t bytes) {
  if (bytes > 0) device_.device().copy(to, from, bytes, CopyKind::kDeviceToHost, *device_.stream);
  device_.stream->synchronize();
}

}  // namespace octavo
