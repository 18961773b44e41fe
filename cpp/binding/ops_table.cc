#include "binding/ops_table.h"

#include "base/error.h"

namespace octavo {

namespace {

/** Before memory is given back nothing may still use it. A failed device has no work left to wait for. */
void settle(OpenDevice& device) noexcept {
  try {
    device.stream->synchronize();
  } catch (...) {
  }
}

}  // namespace

OpsTable::~OpsTable() {
  for (auto& [handle, device] : devices_) settle(*device);
}

Handle OpsTable::open(const std::string& id, int threads) {
  auto opened = std::make_shared<OpenDevice>();
  opened->allocator = DeviceAllocator::create(openDevice(id, threads));
  objects_->watch(opened->device());
  opened->stream = opened->device().createStream();
  opened->workspace = std::make_unique<CachingAllocator>(opened->allocator, Region::kWorkspace, CachingOptions{});
  opened->handle = next_++;
  devices_[opened->handle] = opened;
  return opened->handle;
}

bool OpsTable::close(Handle device) {
  const auto found = devices_.find(device);
  if (found == devices_.end()) return false;
  settle(*found->second);
  std::erase_if(buffers_, [&](const auto& entry) { return entry.second.device == found->second; });
  devices_.erase(found);
  return true;
}

OpenDevice& OpsTable::device(Handle device) const {
  const auto found = devices_.find(device);
  if (found == devices_.end()) throw Error(ErrorCode::kDisposed, "the device was disposed");
  return *found->second;
}

Handle OpsTable::createBuffer(Handle device, size_t bytes, const std::string& tag) {
  const std::shared_ptr<OpenDevice> owner = (this->device(device), devices_.at(device));
  Buffer buffer{owner, owner->allocate(bytes, tag), bytes};
  const Handle handle = next_++;
  buffers_.emplace(handle, std::move(buffer));
  return handle;
}

bool OpsTable::destroyBuffer(Handle buffer) {
  const auto found = buffers_.find(buffer);
  if (found == buffers_.end()) return false;
  const std::shared_ptr<OpenDevice> device = found->second.device;
  settle(*device);
  buffers_.erase(found);
  if (device->workspace->statistics().of(Counter::kAllocation).current == 0) device->workspace->trim();
  return true;
}

const Buffer& OpsTable::buffer(Handle buffer) const {
  const auto found = buffers_.find(buffer);
  if (found == buffers_.end()) throw Error(ErrorCode::kDisposed, "the buffer was disposed");
  return found->second;
}

}  // namespace octavo
