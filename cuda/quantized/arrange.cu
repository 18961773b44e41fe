// Rows of codes, scales and zeros to tiles, once a load: some rows are copied to the scratch and come back in order.
#include <algorithm>

#include "cuda/device/alignment.h"
#include "cuda/device/cuda_check.h"
#include "cuda/quantized/codes.cuh"
#include "cuda/quantized/quantized.h"
#include "cuda/quantized/tiles.cuh"

namespace octavo::cuda {
namespace {

constexpr int kThreads = 128;

/** Which column stands at a place; columnAt is absent where each stands at its own. */
struct ColumnOrder {
  const int32_t* columnAt;
  int64_t columns;
};

/** Codes (2j, 2j + 1) of the eight that begin at `column`, as pairs are. */
template <int kBits>
__device__ __forceinline__ uint32_t pairAt(const uint8_t* row, int64_t column, int j) {
  const uint8_t* from = row + column / 8 * kBits;
  uint64_t eight = 0;
#pragma unroll
  for (int i = 0; i < kBits; ++i) eight |= static_cast<uint64_t>(from[i]) << 8 * i;
  constexpr uint32_t kMask = (1u << kBits) - 1;
  auto two = static_cast<uint32_t>(eight >> 2 * j * kBits);
  return (two & kMask) | (two >> kBits & kMask) << 16;
}

/** The code of a column; zero behind the last. */
template <int kBits>
__device__ __forceinline__ uint32_t codeAt(const uint8_t* row, int64_t place, const ColumnOrder& order) {
  if (place >= order.columns) return 0;
  int64_t bit = int64_t{order.columnAt[place]} * kBits;
  uint32_t bits = row[bit / 8];
  if (bit % 8 + kBits > 8) bits |= static_cast<uint32_t>(row[bit / 8 + 1]) << 8;
  return bits >> bit % 8 & ((1u << kBits) - 1);
}

/** A warp makes a strip of a tile, a lane its words. */
template <int kBits>
__global__ void __launch_bounds__(kThreads) arrangeCodesKernel(uint8_t* to, const uint8_t* from, int64_t stride,
                                                               int64_t tiles, ColumnOrder order) {
  int64_t strip = (static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x) / 32, tile = strip / kTileStrips;
  if (tile >= tiles) return;
  int64_t perRow = stride / (kTileColumns * kBits / 8);
  int lane = threadIdx.x % 32;
  const uint8_t* rows = from + (tile / perRow * kTileRows + strip % kTileStrips * kStripRows + lane / 4) * stride;
  uint32_t words[kBits] = {};
#pragma unroll
  for (int pair = 0; pair < kTilePairs; ++pair) {
    int64_t column = tile % perRow * kTileColumns + pair / 4 * 16 + pair % 4 / 2 * 8;
    const uint8_t* row = rows + pair % 2 * 8 * stride;
    uint32_t codes;
    if (order.columnAt) {
      int64_t place = column + lane % 4 * 2;
      codes = codeAt<kBits>(row, place, order) | codeAt<kBits>(row, place + 1, order) << 16;
    } else {
      codes = pairAt<kBits>(row, column, lane % 4);
    }
    int word = pairWord<kBits>(pair);
    if (kBits == 3 && pair == 15) {
#pragma unroll
      for (int bit = 0; bit < 3; ++bit) words[word + bit] |= (codes >> bit & 0x10001u) << 15;
    } else {
      words[word] |= codes << pairBit<kBits>(pair);
    }
  }
#pragma unroll
  for (int word = 0; word < kBits; ++word) {
    *reinterpret_cast<uint32_t*>(to + strip * stripBytes(kBits) + tileWordOffset<kBits>(lane, word)) = words[word];
  }
}

template <typename Element>
__global__ void __launch_bounds__(kThreads) arrangeScalesKernel(Element* to, const Element* from, int64_t groups,
                                                                int64_t count) {
  int64_t index = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (index < count) to[tileScaleIndex(groups, index / groups, index % groups)] = from[index];
}

unsigned blocksOf(int64_t threads) { return static_cast<unsigned>(ceilDivide(threads, kThreads)); }

/** Calls `body(to, from, count)` for rows of `stride` bytes, as many at a time as the scratch takes copies of. */
template <typename Body>
void overRows(void* data, int64_t stride, int64_t rows, const LinearScratch& scratch, cudaStream_t stream,
              const Body& body) {
  const int64_t most = static_cast<int64_t>(scratch.bytes) / stride / kTileRows * kTileRows;
  for (int64_t first = 0; first < rows; first += most) {
    const int64_t count = std::min(most, rows - first);
    uint8_t* const at = static_cast<uint8_t*>(data) + first * stride;
    check(cudaMemcpyAsync(scratch.data, at, static_cast<size_t>(count * stride), cudaMemcpyDeviceToDevice, stream),
          "cudaMemcpyAsync");
    body(at, static_cast<const uint8_t*>(scratch.data), count);
  }
}

template <typename Element>
void arrangeScales(const void* data, int64_t rows, int64_t groups, const LinearScratch& scratch, cudaStream_t stream) {
  const auto stride = groups * static_cast<int64_t>(sizeof(Element));
  overRows(const_cast<void*>(data), stride, rows, scratch, stream,
           [&](uint8_t* to, const uint8_t* from, int64_t count) {
             const int64_t all = count * groups;
             arrangeScalesKernel<<<blocksOf(all), kThreads, 0, stream>>>(
                 reinterpret_cast<Element*>(to), reinterpret_cast<const Element*>(from), groups, all);
           });
}

template <int kBits>
void arrangeCodes(const QuantizedMatrix& weight, int64_t rows, const ColumnOrder& order, const LinearScratch& scratch,
                  cudaStream_t stream) {
  const int64_t stride = weight.codeStride;
  overRows(const_cast<void*>(weight.codes), stride, rows, scratch, stream,
           [&](uint8_t* to, const uint8_t* from, int64_t count) {
             const int64_t tiles = count * stride / tileBytes(kBits), warps = tiles * kTileStrips;
             arrangeCodesKernel<kBits><<<blocksOf(warps * 32), kThreads, 0, stream>>>(to, from, stride, tiles, order);
           });
}

}  // namespace

bool launchArrange(const QuantizedMatrix& weight, const LinearScratch& scratch, cudaStream_t stream) {
  const int64_t rows = QuantizedMatrix::paddedRows(weight.codeType, weight.rows);
  const bool fits = scratch.bytes >= LinearScratchLayout::arrangeBytes(weight.rows, weight.columns);
  if (weight.order == CodeOrder::kTiles || !weight.canBeTiles() || !fits) return false;
  ColumnOrder order{nullptr, weight.columns};
  LinearScratch copies = scratch;
  if (weight.groupIndex) {
    const size_t bytes = LinearScratchLayout::orderBytes(weight.columns);
    copies = {static_cast<char*>(scratch.data) + bytes, scratch.bytes - bytes};
    if (!launchOrderColumns(weight, {scratch.data, bytes}, stream)) return false;
    order.columnAt = static_cast<const int32_t*>(scratch.data);
  }
  switch (codeBits(weight.codeType)) {
    case 2: arrangeCodes<2>(weight, rows, order, copies, stream); break;
    case 3: arrangeCodes<3>(weight, rows, order, copies, stream); break;
    case 4: arrangeCodes<4>(weight, rows, order, copies, stream); break;
    default: arrangeCodes<8>(weight, rows, order, copies, stream);
  }
  arrangeScales<uint16_t>(weight.scales, rows, weight.groups, copies, stream);
  if (weight.zeros) arrangeScales<uint8_t>(weight.zeros, rows, weight.groups, copies, stream);
  checkLaunch("arrange");
  return true;
}

}  // namespace octavo::cuda
