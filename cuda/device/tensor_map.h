// Descriptions of matrices for the tensor memory accelerator.
#pragma once

#include <cuda.h>

#include "ops/latent.h"
#include "ops/quantized_matrix.h"

namespace octavo::cuda {

/**
 * `matrix` (16-bit, rows and base on 16-byte boundaries) in boxes of boxRows × 64 columns, which lie in shared memory
 * as 128-byte rows whose 16-byte chunks are XOR-swizzled by the row. Outside of the matrix zeros are read and nothing
 * is written. Throws kDeviceFailed when the driver refuses it.
 */
CUtensorMap tensorMapOf(const Matrix& matrix, int boxRows);

/**
 * The same, whose columns are a multiple of 64, in boxes of boxRows rows and boxSlabs times 64 columns: coordinates
 * (0, row, slab, 0). In shared memory one slab after the other, rows as above.
 */
CUtensorMap slabMapOf(const Matrix& matrix, int boxRows, int boxSlabs);

/**
 * Rows of 8-bit codes, `stride` bytes (a multiple of 16) apart, in boxes of boxRows × 128 columns that lie in shared
 * memory as above.
 */
CUtensorMap codeMapOf(const void* codes, int64_t rows, int64_t columns, int64_t stride, int boxRows);

/** The same of rows whose columns are a multiple of 128, in boxes as those of slabMapOf. */
CUtensorMap codeSlabMapOf(const void* codes, int64_t rows, int64_t columns, int64_t stride, int boxRows, int boxSlabs);

/**
 * Codes of four bits in tiles (cuda/quantized/tiles.cuh), in boxes of a strip of each of boxTiles tiles along K:
 * coordinates (0, strip, tile along K, tile of rows). In shared memory one strip after the other, not swizzled.
 */
CUtensorMap stripMapOf(const QuantizedMatrix& weight, int boxTiles);

/**
 * The scales (or, of bytes, the zeros) of a weight in tiles, in boxes of those of a strip and boxGroups groups:
 * coordinates (16 · strip, group, tile of rows, 0). In shared memory a group's 16 after the other's.
 */
CUtensorMap stripScaleMapOf(const QuantizedMatrix& weight, int boxGroups);
CUtensorMap stripZeroMapOf(const QuantizedMatrix& weight, int boxGroups);

/**
 * All of a paged cache whose dim is a multiple of 64, in boxes of the keys and the values of boxTokens tokens of one
 * head: coordinates (0, head · blockSize + token, 0, (block · layers + layer) · 2). In shared memory the keys come
 * first; both in rows as above, 64 columns after the other. Of a cache of codes of dim 64, 128 or 256: coordinates
 * (0, head · blockSize + token, 0, 2 · layer, block), 128 columns after the other; of dim 64 two tokens are a row, and
 * the second coordinate is half as large.
 */
CUtensorMap cacheMapOf(const KvCacheView& cache, int boxTokens);

/**
 * All of a paged cache of latents whose width is a multiple of 64, in boxes of boxTokens tokens and boxSlabs times 64
 * columns: coordinates (0, token, slab, block · layers + layer). In shared memory one slab after the other, rows as
 * above.
 */
CUtensorMap latentMapOf(const LatentCacheView& cache, int boxTokens, int boxSlabs);

}  // namespace octavo::cuda
