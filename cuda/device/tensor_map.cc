#include "cuda/device/tensor_map.h"

#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>

#include <string>

#include "base/error.h"
#include "cuda/device/cuda_check.h"

namespace octavo::cuda {
namespace {

constexpr int kBoxColumns = 64;

// libcuda is never linked: a machine without a driver must be able to load the addon.
PFN_cuTensorMapEncodeTiled_v12000 findEncoder() {
  void* entry = nullptr;
  cudaDriverEntryPointQueryResult found{};
  check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000, cudaEnableDefault, &found),
        "the search for cuTensorMapEncodeTiled");
  if (found == cudaDriverEntryPointSuccess) return reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(entry);
  throw Error(ErrorCode::kDeviceFailed, "the CUDA driver has no cuTensorMapEncodeTiled; it is of CUDA 12.0 and later");
}

}  // namespace

CUtensorMap tensorMapOf(const Matrix& matrix, int boxRows) {
  static const PFN_cuTensorMapEncodeTiled_v12000 encode = findEncoder();
  CUtensorMap map;
  const cuuint64_t dimensions[] = {static_cast<cuuint64_t>(matrix.columns), static_cast<cuuint64_t>(matrix.rows)};
  const cuuint64_t strides[] = {static_cast<cuuint64_t>(matrix.stride) * 2};
  const cuuint32_t box[] = {kBoxColumns, static_cast<cuuint32_t>(boxRows)}, steps[] = {1, 1};
  const auto type =
      matrix.dtype == DType::kBF16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
  const CUresult result = encode(&map, type, 2, matrix.data, dimensions, strides, box, steps,
                                 CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                 CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result == CUDA_SUCCESS) return map;
  throw Error(ErrorCode::kDeviceFailed, "the driver refused to describe a matrix of " + std::to_string(matrix.rows) +
                                            " × " + std::to_string(matrix.columns) + ", stride " +
                                            std::to_string(matrix.stride) + " (CUresult " +
                                            std::to_string(static_cast<int>(result)) + ")");
}

}  // namespace octavo::cuda
