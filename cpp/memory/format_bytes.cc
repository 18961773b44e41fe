#include "memory/format_bytes.h"

#include <cstdio>

namespace octavo {

std::string formatBytes(size_t bytes) {
  if (bytes < 1024) return std::to_string(bytes) + " bytes";
  const char* const units[] = {"KiB", "MiB", "GiB", "TiB"};
  size_t unit = 1024;
  int index = 0;
  while (index < 3 && bytes / unit >= 1024) {
    unit *= 1024;
    ++index;
  }
  char text[32];
  const int decimals = bytes % unit == 0 ? 0 : 2;
  std::snprintf(text, sizeof text, "%.*f %s", decimals, static_cast<double>(bytes) / static_cast<double>(unit),
                units[index]);
  return text;
}

}  // namespace octavo
