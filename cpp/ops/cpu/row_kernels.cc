#include "ops/cpu/row_kernels.h"

#include <cstdlib>
#include <cstring>

namespace octavo::cpu {

namespace {

const RowKernels& choose() {
  const char* limit = std::getenv("OCTAVO_CPU_ISA");
  const bool baseline = limit && std::strcmp(limit, "baseline") == 0;
  const bool avx2 = limit && std::strcmp(limit, "avx2") == 0;
  if (!baseline && !avx2 && avx512Kernels()) return *avx512Kernels();
  if (!baseline && avx2Kernels()) return *avx2Kernels();
  return *baselineKernels();
}

}  // namespace

const RowKernels& rowKernels() {
  static const RowKernels& kernels = choose();
  return kernels;
}

}  // namespace octavo::cpu
