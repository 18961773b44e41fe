// Which machine code and PTX this build carries.
#pragma once

#include <string>

namespace octavo::cuda {

/** For example "sm_80 compute_80 sm_90a", in the order given to the compiler. */
std::string buildArchitectures();

}  // namespace octavo::cuda
