#include "device/page_mapping.h"

#include <atomic>
#include <cstdlib>
#include <string_view>

namespace octavo {

namespace {

bool environmentAllows() {
  const char* const setting = std::getenv("OCTAVO_PAGE_MAPPING");
  return !setting || std::string_view(setting) != "off";
}

std::atomic<bool>& allowedFlag() {
  static std::atomic<bool> allowed{environmentAllows()};
  return allowed;
}

}  // namespace

bool isPageMappingAllowed() { return allowedFlag(); }

void allowPageMapping(bool allowed) { allowedFlag() = allowed; }

}  // namespace octavo
