// Descriptions of tensors for the copies of tiles.
#pragma once

#include <cuda.h>

namespace octavo::emulator {

/** cuTensorMapEncodeTiled, with the driver's refusals. */
CUresult encodeTensorMap(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* data,
                         const cuuint64_t* dimensions, const cuuint64_t* strides, const cuuint32_t* box,
                         const cuuint32_t* steps, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                         CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill);

}  // namespace octavo::emulator
