#include "runtime/tensor_map.h"

#include <algorithm>
#include <cstring>

#include "asynchronous/tensor_map.h"

namespace octavo::emulator {

namespace {

constexpr uint64_t kMostSize = uint64_t{1} << 32, kMostStride = uint64_t{1} << 40;
constexpr uint32_t kMostBox = 256, kMostStep = 8;

/** 0 for types that are not emulated. */
uint8_t bytesOf(CUtensorMapDataType type) {
  switch (type) {
    case CU_TENSOR_MAP_DATA_TYPE_UINT8: return 1;
    case CU_TENSOR_MAP_DATA_TYPE_UINT16:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
    case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16: return 2;
    case CU_TENSOR_MAP_DATA_TYPE_UINT32:
    case CU_TENSOR_MAP_DATA_TYPE_INT32:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32: return 4;
    case CU_TENSOR_MAP_DATA_TYPE_UINT64:
    case CU_TENSOR_MAP_DATA_TYPE_INT64:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT64: return 8;
    default: return 0;
  }
}

bool isOneOf(CUtensorMapSwizzle swizzle) {
  return swizzle == CU_TENSOR_MAP_SWIZZLE_NONE || swizzle == CU_TENSOR_MAP_SWIZZLE_32B ||
         swizzle == CU_TENSOR_MAP_SWIZZLE_64B || swizzle == CU_TENSOR_MAP_SWIZZLE_128B;
}

bool isAligned(const void* at, uintptr_t bytes) { return at && reinterpret_cast<uintptr_t>(at) % bytes == 0; }

bool isDescribable(const TensorMap& map) {
  for (int i = 0; i < map.rank; ++i) {
    if (map.sizes[i] == 0 || map.sizes[i] > kMostSize) return false;
    if (i && (map.strides[i - 1] % 16 || map.strides[i - 1] >= kMostStride)) return false;
  }
  const uint32_t rowBytes = uint32_t{map.box[0]} * map.elementBytes;
  return rowBytes % 16 == 0 && (map.swizzle == Swizzle::kNone || rowBytes <= spanOf(map.swizzle));
}

}  // namespace

CUresult encodeTensorMap(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* data,
                         const cuuint64_t* sizes, const cuuint64_t* strides, const cuuint32_t* box,
                         const cuuint32_t* steps, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                         CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  const bool isEmulated = bytesOf(type) && interleave == CU_TENSOR_MAP_INTERLEAVE_NONE && isOneOf(swizzle) &&
                          fill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
  if (!isEmulated || promotion > CU_TENSOR_MAP_L2_PROMOTION_L2_256B) return CUDA_ERROR_INVALID_VALUE;
  if (!isAligned(map, 64) || !isAligned(data, 16) || rank < 1 || rank > kMostDimensions) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  TensorMap made{};
  made.made = TensorMap::kMade;
  made.data = static_cast<uint8_t*>(data);
  made.rank = static_cast<uint8_t>(rank);
  made.elementBytes = bytesOf(type);
  made.swizzle = static_cast<Swizzle>(swizzle);
  for (uint32_t i = 0; i < rank; ++i) {
    if (box[i] == 0 || box[i] > kMostBox || steps[i] == 0 || steps[i] > kMostStep) return CUDA_ERROR_INVALID_VALUE;
    made.box[i] = static_cast<uint16_t>(box[i]);
    made.steps[i] = static_cast<uint8_t>(steps[i]);
  }
  std::copy_n(sizes, rank, made.sizes);
  std::copy_n(strides, rank - 1, made.strides);
  if (!isDescribable(made)) return CUDA_ERROR_INVALID_VALUE;
  std::memset(map, 0, sizeof(*map));
  std::memcpy(map, &made, sizeof(made));
  return CUDA_SUCCESS;
}

}  // namespace octavo::emulator
