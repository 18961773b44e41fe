#include "cuda/device/tensor_map.h"

#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>

#include <algorithm>
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

/** Dimensions from the innermost, strides in bytes of all but that. */
template <size_t kRank>
struct Tensor {
  void* data;
  CUtensorMapDataType type;
  cuuint64_t dimensions[kRank], strides[kRank - 1];
  cuuint32_t box[kRank];
  CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
};

CUtensorMapDataType typeOf(DType dtype) {
  return dtype == DType::kBF16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
}

template <size_t kRank>
CUtensorMap encode(const Tensor<kRank>& tensor) {
  static const PFN_cuTensorMapEncodeTiled_v12000 encoder = findEncoder();
  // Not what is returned itself: where a caller assigns that, g++ 12 puts it on 32 bytes, and the driver asks for 64.
  struct { CUtensorMap map; } made;
  cuuint32_t steps[kRank];
  std::fill(steps, steps + kRank, 1u);
  const CUresult result = encoder(&made.map, tensor.type, kRank, tensor.data, tensor.dimensions, tensor.strides,
                                  tensor.box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, tensor.swizzle,
                                  CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result == CUDA_SUCCESS) return made.map;
  std::string shape;
  for (cuuint64_t size : tensor.dimensions) shape = std::to_string(size) + (shape.empty() ? "" : " × ") + shape;
  throw Error(ErrorCode::kDeviceFailed, "the driver refused to describe a tensor of " + shape + ", rows " +
                                            std::to_string(tensor.strides[0]) + " bytes apart (CUresult " +
                                            std::to_string(static_cast<int>(result)) + ")");
}

/** What belongs to the 64 rows of a tile, [tile of rows][group][64] of `bytes` each. */
CUtensorMap encodeGroups(const void* data, CUtensorMapDataType type, size_t bytes, const QuantizedMatrix& weight,
                         int boxGroups) {
  constexpr auto kRows = static_cast<cuuint64_t>(QuantizedMatrix::kTileRows);
  const auto groups = static_cast<cuuint64_t>(weight.groups);
  const auto tiles = static_cast<cuuint64_t>(QuantizedMatrix::paddedRows(weight.codeType, weight.rows)) / kRows;
  return encode<4>({const_cast<void*>(data),
                    type,
                    {kRows, groups, tiles, 1},
                    {kRows * bytes, groups * kRows * bytes, tiles * groups * kRows * bytes},
                    {16, static_cast<cuuint32_t>(boxGroups), 1, 1},
                    CU_TENSOR_MAP_SWIZZLE_NONE});
}

CUtensorMap encodeCache(const KvCacheView& cache, int boxTokens) {
  const auto rows = static_cast<cuuint64_t>(cache.kvHeads) * static_cast<cuuint64_t>(cache.blockSize);
  const auto rowBytes = static_cast<cuuint64_t>(cache.headDim) * 2, boxes = rowBytes / (kBoxColumns * 2);
  const auto planes = static_cast<cuuint64_t>(cache.blocks) * static_cast<cuuint64_t>(cache.layers) * 2;
  return encode<4>({cache.data,
                    typeOf(cache.dtype),
                    {kBoxColumns, rows, boxes, planes},
                    {rowBytes, kBoxColumns * 2, rows * rowBytes},
                    {kBoxColumns, static_cast<cuuint32_t>(boxTokens), static_cast<cuuint32_t>(boxes), 2}});
}

/** Scales lie after a block's codes: blocks are a dimension of their own. */
CUtensorMap encodeCodes(const KvCacheView& cache, int boxTokens) {
  constexpr cuuint64_t kColumns = 2 * kBoxColumns;
  const auto dim = static_cast<cuuint64_t>(cache.headDim), shared = std::max<cuuint64_t>(1, kColumns / dim);
  const auto tokens = static_cast<cuuint64_t>(cache.kvHeads) * static_cast<cuuint64_t>(cache.blockSize);
  const cuuint64_t boxes = std::max<cuuint64_t>(1, dim / kColumns);
  return encode<5>({cache.data,
                    CU_TENSOR_MAP_DATA_TYPE_UINT8,
                    {kColumns, tokens / shared, boxes, static_cast<cuuint64_t>(cache.layers) * 2,
                     static_cast<cuuint64_t>(cache.blocks)},
                    {dim * shared, kColumns, tokens * dim, cache.blockBytes()},
                    {static_cast<cuuint32_t>(kColumns),
                     static_cast<cuuint32_t>(boxTokens) / static_cast<cuuint32_t>(shared),
                     static_cast<cuuint32_t>(boxes), 2, 1}});
}

CUtensorMap encodeLatents(const LatentCacheView& cache, int boxTokens, int boxSlabs) {
  const auto rowBytes = static_cast<cuuint64_t>(cache.width) * 2, slabs = rowBytes / (kBoxColumns * 2);
  const auto tokens = static_cast<cuuint64_t>(cache.blockSize);
  const auto planes = static_cast<cuuint64_t>(cache.blocks) * static_cast<cuuint64_t>(cache.layers);
  return encode<4>({cache.data,
                    typeOf(cache.dtype),
                    {kBoxColumns, tokens, slabs, planes},
                    {rowBytes, kBoxColumns * 2, tokens * rowBytes},
                    {kBoxColumns, static_cast<cuuint32_t>(boxTokens), static_cast<cuuint32_t>(boxSlabs), 1}});
}

}  // namespace

CUtensorMap tensorMapOf(const Matrix& matrix, int boxRows) {
  return encode<2>({matrix.data,
                    typeOf(matrix.dtype),
                    {static_cast<cuuint64_t>(matrix.columns), static_cast<cuuint64_t>(matrix.rows)},
                    {static_cast<cuuint64_t>(matrix.stride) * 2},
                    {kBoxColumns, static_cast<cuuint32_t>(boxRows)}});
}

CUtensorMap slabMapOf(const Matrix& matrix, int boxRows, int boxSlabs) {
  const auto rowBytes = static_cast<cuuint64_t>(matrix.stride) * 2, rows = static_cast<cuuint64_t>(matrix.rows);
  return encode<4>({matrix.data,
                    typeOf(matrix.dtype),
                    {kBoxColumns, rows, static_cast<cuuint64_t>(matrix.columns) / kBoxColumns, 1},
                    {rowBytes, kBoxColumns * 2, rows * rowBytes},
                    {kBoxColumns, static_cast<cuuint32_t>(boxRows), static_cast<cuuint32_t>(boxSlabs), 1}});
}

CUtensorMap codeMapOf(const void* codes, int64_t rows, int64_t columns, int64_t stride, int boxRows) {
  return encode<2>({const_cast<void*>(codes),
                    CU_TENSOR_MAP_DATA_TYPE_UINT8,
                    {static_cast<cuuint64_t>(columns), static_cast<cuuint64_t>(rows)},
                    {static_cast<cuuint64_t>(stride)},
                    {2 * kBoxColumns, static_cast<cuuint32_t>(boxRows)}});
}

CUtensorMap codeSlabMapOf(const void* codes, int64_t rows, int64_t columns, int64_t stride, int boxRows, int boxSlabs) {
  const auto rowBytes = static_cast<cuuint64_t>(stride), count = static_cast<cuuint64_t>(rows);
  return encode<4>({const_cast<void*>(codes),
                    CU_TENSOR_MAP_DATA_TYPE_UINT8,
                    {2 * kBoxColumns, count, static_cast<cuuint64_t>(columns) / (2 * kBoxColumns), 1},
                    {rowBytes, kBoxColumns * 2, count * rowBytes},
                    {2 * kBoxColumns, static_cast<cuuint32_t>(boxRows), static_cast<cuuint32_t>(boxSlabs), 1}});
}

CUtensorMap stripMapOf(const QuantizedMatrix& weight, int boxTiles) {
  constexpr cuuint64_t kStripBytes = 512, kStrips = 4, kTileBytes = kStrips * kStripBytes;
  const auto rows = static_cast<cuuint64_t>(QuantizedMatrix::paddedRows(weight.codeType, weight.rows)) / 64;
  const auto columns = static_cast<cuuint64_t>(weight.codeStride) * 64 / kTileBytes;  // tiles along K
  return encode<4>({const_cast<void*>(weight.codes),
                    CU_TENSOR_MAP_DATA_TYPE_UINT32,
                    {kStripBytes / 4, kStrips, columns, rows},
                    {kStripBytes, kTileBytes, columns * kTileBytes},
                    {kStripBytes / 4, 1, static_cast<cuuint32_t>(boxTiles), 1},
                    CU_TENSOR_MAP_SWIZZLE_NONE});
}

CUtensorMap stripScaleMapOf(const QuantizedMatrix& weight, int boxGroups) {
  return encodeGroups(weight.scales, CU_TENSOR_MAP_DATA_TYPE_UINT16, 2, weight, boxGroups);
}

CUtensorMap stripZeroMapOf(const QuantizedMatrix& weight, int boxGroups) {
  return encodeGroups(weight.zeros, CU_TENSOR_MAP_DATA_TYPE_UINT8, 1, weight, boxGroups);
}

// Every layer of every step asks for the same one. A map is a pure function of the view: it owns and outlives nothing.
CUtensorMap cacheMapOf(const KvCacheView& cache, int boxTokens) {
  struct Last { KvCacheView cache; int boxTokens = 0; CUtensorMap map; };
  thread_local Last last;
  if (last.boxTokens != boxTokens || last.cache != cache) {
    last.map = isCode(cache.dtype) ? encodeCodes(cache, boxTokens) : encodeCache(cache, boxTokens);
    last.cache = cache;
    last.boxTokens = boxTokens;
  }
  return last.map;
}

CUtensorMap latentMapOf(const LatentCacheView& cache, int boxTokens, int boxSlabs) {
  struct Last { LatentCacheView cache; int boxTokens = 0, boxSlabs = 0; CUtensorMap map; };
  thread_local Last last;
  if (last.boxTokens != boxTokens || last.boxSlabs != boxSlabs || last.cache != cache) {
    last = {cache, boxTokens, boxSlabs, encodeLatents(cache, boxTokens, boxSlabs)};
  }
  return last.map;
}

}  // namespace octavo::cuda
