#include "ops/cpu/row_kernels.h"

// SSE2 or NEON: what every processor of the platform has.
#define OCTAVO_LANES 4
#define OCTAVO_TILE_ROWS 2
#include "ops/cpu/row_kernels_body.h"

namespace octavo::cpu {

const RowKernels* baselineKernels() {
  static constexpr RowKernels kKernels = makeRowKernels("baseline");
  return &kKernels;
}

}  // namespace octavo::cpu
