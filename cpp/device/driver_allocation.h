// The driver's own ways to take and give memory, so that benchmarks can stand beside them.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace octavo {

/** One way, by its name: "cudaMallocAsync", … `take` throws kDeviceFailed; `give` takes what `take` gave. */
struct DriverAllocation {
  std::string name;
  std::function<void*(size_t bytes)> take;
  std::function<void(void* data)> give;
};

/** Those of the device of that id; none for the CPU. */
std::vector<DriverAllocation> driverAllocations(const std::string& device);

}  // namespace octavo
