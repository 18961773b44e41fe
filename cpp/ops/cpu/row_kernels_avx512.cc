#include "ops/cpu/row_kernels.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/half.h"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c"))), apply_to = function)
#else
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")
#pragma GCC diagnostic ignored "-Wpsabi"  // vectors are passed between inlined functions only
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // of gcc 12, in the intrinsics themselves
#endif

#define OCTAVO_LANES 16
#define OCTAVO_TILE_ROWS 4
#include "ops/cpu/row_kernels_body.h"

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC reset_options
#endif

namespace octavo::cpu {

const RowKernels* avx512Kernels() {
  static constexpr RowKernels kKernels = makeRowKernels("avx512");
  const bool runs = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma");
  return runs ? &kKernels : nullptr;
}

}  // namespace octavo::cpu

#else

namespace octavo::cpu {
const RowKernels* avx512Kernels() { return nullptr; }
}  // namespace octavo::cpu

#endif
