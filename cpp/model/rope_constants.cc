#include "model/rope_constants.h"

namespace octavo {

namespace {

constexpr size_t kAlignment = 256;

size_t paddedBytes(const RopeSpec& rope) {
  return (rope.inverseFrequencies.size() * sizeof(float) + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

size_t RopeConstants::plannedBytes(const ModelSpec& spec) {
  size_t bytes = 0;
  for (const RopeSpec& rope : spec.ropes) bytes += paddedBytes(rope);
  return DeviceAllocator::rounded(bytes);
}

RopeConstants::RopeConstants(DeviceAllocator& allocator, const ModelSpec& spec) {
  memory_ = allocator.allocate(Region::kWeights, plannedBytes(spec), {OwnerKind::kEngine, 0}, "rope");
  Device& device = allocator.device();
  const std::unique_ptr<Stream> stream = device.createStream();
  size_t offset = 0;
  for (const RopeSpec& rope : spec.ropes) {
    offsets_.push_back(offset);
    device.copy(static_cast<char*>(memory_.data()) + offset, rope.inverseFrequencies.data(),
                rope.inverseFrequencies.size() * sizeof(float), CopyKind::kHostToDevice, *stream);
    offset += paddedBytes(rope);
  }
  stream->synchronize();
}

}  // namespace octavo
