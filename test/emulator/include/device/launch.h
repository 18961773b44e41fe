// Launches as the translated sources write them.
#pragma once

#include <tuple>
#include <utility>

#include "runtime/launch.h"

namespace octavo::emulator {

/** A kernel and its grid; called with the kernel's arguments it is launched. */
template <class... Parameters>
class Launcher {
 public:
  Launcher(void (*kernel)(Parameters...), const LaunchSettings& settings) : kernel_(kernel), settings_(settings) {}

  cudaError_t operator()(Parameters... arguments) const {
    // The parameters of a launch are one copy, which stays until it has ended.
    auto call = [kernel = kernel_, held = std::tuple<Parameters...>(arguments...)] { std::apply(kernel, held); };
    return launchKernel(reinterpret_cast<const void*>(kernel_), settings_, std::move(call));
  }

 private:
  void (*kernel_)(Parameters...);
  LaunchSettings settings_;
};

/** kernel<<<grid, block, shared, stream>>> */
template <class... Parameters>
Launcher<Parameters...> launcher(const char* name, void (*kernel)(Parameters...), dim3 grid, dim3 block,
                                 size_t shared = 0, cudaStream_t stream = nullptr) {
  return {kernel, {name, grid, block, {1, 1, 1}, shared, stream}};
}

/** The same of a kernel whose template arguments follow from the arguments: `kernel` is a function object that calls it. */
template <class Kernel>
auto deducingLauncher(const char* name, Kernel kernel, dim3 grid, dim3 block, size_t shared = 0,
                      cudaStream_t stream = nullptr) {
  const LaunchSettings settings{name, grid, block, {1, 1, 1}, shared, stream};
  return [=](auto... arguments) {
    return launchKernel(nullptr, settings, [=] { kernel(arguments...); });
  };
}

template <class... Parameters, class... Arguments>
cudaError_t launchExtended(const char* name, const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                           Arguments&&... arguments) {
  return Launcher<Parameters...>(kernel, settingsOf(name, *config))(std::forward<Arguments>(arguments)...);
}

}  // namespace octavo::emulator

template <class... Parameters>
cudaError_t cudaFuncSetAttribute(void (*kernel)(Parameters...), cudaFuncAttribute attribute, int value) {
  return cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), attribute, value);
}

template <class... Parameters>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, void (*kernel)(Parameters...)) {
  return cudaFuncGetAttributes(attributes, reinterpret_cast<const void*>(kernel));
}

#define OCTAVO_EMULATED_KERNEL_NAME(config, kernel, ...) #kernel
#define cudaLaunchKernelEx(...) \
  ::octavo::emulator::launchExtended(OCTAVO_EMULATED_KERNEL_NAME(__VA_ARGS__, ), __VA_ARGS__)
