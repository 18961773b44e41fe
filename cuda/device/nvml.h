// The driver's management library, for the one figure the runtime API does not give.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace octavo::cuda {

/**
 * Device memory that the driver attributes to this process, in bytes. Nothing where the library is
 * missing, the process is not listed (another process-id namespace) or the driver does not tell.
 */
std::optional<size_t> processMemoryBytes(const std::string& pciBusId);

}  // namespace octavo::cuda
