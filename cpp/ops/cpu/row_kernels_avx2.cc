#include "ops/cpu/row_kernels.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/half.h"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c,bmi2"))), apply_to = function)
#else
#pragma GCC target("avx2,fma,f16c,bmi2")
#pragma GCC diagnostic ignored "-Wpsabi"  // vectors are passed between inlined functions only
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // of gcc 12, in the intrinsics themselves
#endif

#define OCTAVO_LANES 8
#define OCTAVO_TILE_ROWS 2
#include "ops/cpu/row_kernels_body.h"

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC reset_options
#endif

namespace octavo::cpu {

const RowKernels* avx2Kernels() {
  static constexpr RowKernels kKernels = makeRowKernels("avx2");
  const bool runs = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  return runs ? &kKernels : nullptr;
}

}  // namespace octavo::cpu

#else

namespace octavo::cpu {
const RowKernels* avx2Kernels() { return nullptr; }
}  // namespace octavo::cpu

#endif
