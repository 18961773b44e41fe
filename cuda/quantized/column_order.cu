// Columns of an act-order weight by their groups: then the weight has groups of neighbours, and x is reordered instead.
#include "cuda/device/alignment.h"
#include "cuda/device/cuda_check.h"
#include "cuda/quantized/quantized.h"
#include "ops/linear_scratch.h"

namespace octavo::cuda {
namespace {

constexpr int kThreads = 256;

/** A warp a group lists the group's columns, in order. `isUneven` becomes 1 where a group has not as many as it takes. */
__global__ void __launch_bounds__(32) listColumnsKernel(int32_t* columnAt, int32_t* isUneven, const int32_t* groupIndex,
                                                        int columns, int groupColumns) {
  int group = static_cast<int>(blockIdx.x), lane = static_cast<int>(threadIdx.x), found = 0;
  int first = group * groupColumns, size = min(groupColumns, columns - first);
  for (int base = 0; base < columns; base += 32) {
    bool isMine = base + lane < columns && groupIndex[base + lane] == group;
    uint32_t all = __ballot_sync(0xffffffffu, isMine);
    int place = found + __popc(all & ((1u << lane) - 1));
    if (isMine && place < size) columnAt[first + place] = base + lane;
    found += __popc(all);
  }
  if (lane == 0 && found != size) *isUneven = 1;
}

__global__ void __launch_bounds__(kThreads) placesKernel(int32_t* placeOf, const int32_t* columnAt, int columns) {
  int place = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);
  if (place < columns) placeOf[columnAt[place]] = place;
}

__global__ void __launch_bounds__(kThreads) placeColumnsKernel(Matrix to, Matrix from, const int32_t* placeOf) {
  int64_t column = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (column >= from.columns) return;
  auto* row = static_cast<uint16_t*>(to.data) + blockIdx.y * to.stride;
  row[placeOf[column]] = static_cast<const uint16_t*>(from.data)[blockIdx.y * from.stride + column];
}

unsigned blocksOf(int64_t threads) { return static_cast<unsigned>(ceilDivide(threads, kThreads)); }

}  // namespace

bool launchOrderColumns(const QuantizedMatrix& weight, const LinearScratch& scratch, cudaStream_t stream) {
  auto* const columnAt = static_cast<int32_t*>(scratch.data);
  int32_t* const isUneven = columnAt + weight.columns;
  const auto columns = static_cast<int>(weight.columns);
  int32_t uneven = 0;
  check(cudaMemsetAsync(isUneven, 0, sizeof uneven, stream), "cudaMemsetAsync");
  listColumnsKernel<<<static_cast<unsigned>(weight.groups), 32, 0, stream>>>(columnAt, isUneven, weight.groupIndex,
                                                                            columns, weight.groupColumns);
  check(cudaMemcpyAsync(&uneven, isUneven, sizeof uneven, cudaMemcpyDeviceToHost, stream), "cudaMemcpyAsync");
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  if (uneven) return false;
  placesKernel<<<blocksOf(columns), kThreads, 0, stream>>>(const_cast<int32_t*>(weight.groupIndex), columnAt, columns);
  checkLaunch("orderColumns");
  return true;
}

void launchPlaceColumns(const Matrix& to, const Matrix& from, const int32_t* placeOf, cudaStream_t stream) {
  const dim3 grid(blocksOf(from.columns), static_cast<unsigned>(from.rows));
  placeColumnsKernel<<<grid, kThreads, 0, stream>>>(to, from, placeOf);
  checkLaunch("placeColumns");
}

}  // namespace octavo::cuda
