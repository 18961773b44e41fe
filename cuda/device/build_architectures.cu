#include "cuda/device/build_architectures.h"

#include <sstream>

namespace octavo::cuda {

#ifdef OCTAVO_CUDA_ARCHITECTURES

// CMake's list with spaces: "80-real 80-virtual 90a-real".
std::string buildArchitectures() {
  std::istringstream list(OCTAVO_CUDA_ARCHITECTURES);
  std::string words, entry;
  auto append = [&words](const std::string& word) { words += (words.empty() ? "" : " ") + word; };
  while (list >> entry) {
    size_t dash = entry.find('-');
    std::string number = entry.substr(0, dash);
    if (dash == std::string::npos || entry.substr(dash) == "-real") append("sm_" + number);
    if (dash == std::string::npos || entry.substr(dash) == "-virtual") append("compute_" + number);
  }
  return words;
}

#else

// nvcc's own list, numbers only: {800, 900}.
std::string buildArchitectures() {
  std::string words;
  for (int number : {__CUDA_ARCH_LIST__}) words += (words.empty() ? "sm_" : " sm_") + std::to_string(number / 10);
  return words;
}

#endif

}  // namespace octavo::cuda
