// Byte counts for people.
#pragma once

#include <cstddef>
#include <string>

namespace octavo {

/** `640 bytes`, `1.50 KiB`, `512 MiB`: two decimals where they say something. */
std::string formatBytes(size_t bytes);

}  // namespace octavo
