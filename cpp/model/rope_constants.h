// The inverse frequencies of all ropes on the device.
#pragma once

#include "memory/allocator.h"
#include "model/model_spec.h"

namespace octavo {

class RopeConstants {
 public:
  /** One allocation in region weights. Throws kOutOfMemory. */
  RopeConstants(DeviceAllocator& allocator, const ModelSpec& spec);

  /** What the constructor takes, as the allocator rounds it. */
  static size_t plannedBytes(const ModelSpec& spec);

  /** fp32 [headDim / 2] in device memory. */
  const float* inverseFrequencies(int32_t rope) const {
    return reinterpret_cast<const float*>(static_cast<const char*>(memory_.data()) + offsets_[rope]);
  }

 private:
  std::vector<size_t> offsets_;
  Allocation memory_;
};

}  // namespace octavo
