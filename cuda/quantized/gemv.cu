// out = x · weightᵀ + bias for few rows of x, from codes: bound by reading them, once for every four rows.
//
// A warp takes kOutputs rows of the weight; a lane takes spans of 32 columns, whose codes are 8 to 32 bytes in one or
// two accesses, dequantises eight at a time and multiplies them with every row of x in fp32. A lane's products are
// added in order of K whatever kRows and kOutputs are, so a row's result does not depend on the number of rows.
#include "cuda/device/alignment.h"
#include "cuda/device/cuda_check.h"
#include "cuda/device/reduce.cuh"
#include "cuda/quantized/codes.cuh"
#include "cuda/quantized/quantized.h"

namespace octavo::cuda {
namespace {

constexpr int kWarps = 4;
constexpr int kOutputs = 2;  // rows of the weight a warp

struct CodedGemvArguments {
  Matrix out, x;
  QuantizedMatrix weight;
  Vector bias;
  bool wholeSpans;  // every span lies in one group
};

/** Eight numbers of a span, from column `column` of the weight on. */
template <CodeType kType, bool kChunked>
__device__ __forceinline__ void numbersOf(float (&numbers)[kChunk], const CodeSpan<kType>& span, int first,
                                          const CodedGemvArguments& a, int64_t scaleRow, int64_t column,
                                          const GroupScale& shared) {
#pragma unroll
  for (int i = 0; i < kChunk; ++i) {
    GroupScale group = shared;
    bool inside = kChunked || column + i < a.weight.columns;
    if (!a.wholeSpans && inside) group = GroupScale(a.weight, scaleRow, groupOf(a.weight, column + i));
    // What follows the last code of a row is anything, NaN too: it must not meet a product.
    numbers[i] = inside ? __fmul_rn(codeNumber<kType>(span.code(first + i), group.zero), group.scale) : 0.0f;
  }
}

template <bool kChunked>
__device__ __forceinline__ void loadInput(float (&values)[kChunk], const Matrix& x, int64_t row, int64_t column) {
  int64_t index = min(row, x.rows - 1) * x.stride + column;  // rows past the end repeat the last; they are not stored
  if constexpr (kChunked) {
    loadChunk(values, x.data, x.dtype, index);
  } else {
#pragma unroll
    for (int i = 0; i < kChunk; ++i) {
      values[i] = column + i < x.columns ? loadFloat(x.data, x.dtype, index + i) : 0.0f;
    }
  }
}

template <CodeType kType, int kRows, bool kChunked>
__global__ void __launch_bounds__(kWarps * 32) codedGemvKernel(const __grid_constant__ CodedGemvArguments a) {
  int lane = threadIdx.x % 32;
  int64_t firstOutput = (static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.x / 32) * kOutputs;
  int64_t firstRow = static_cast<int64_t>(blockIdx.y) * kRows, columns = a.weight.columns;
  if (firstOutput >= a.out.columns) return;
  int64_t outputs[kOutputs], scaleRows[kOutputs];
#pragma unroll
  for (int n = 0; n < kOutputs; ++n) {
    outputs[n] = min(firstOutput + n, a.out.columns - 1);
    scaleRows[n] = scaleRowOf(a.weight, outputs[n]);
  }

  float sums[kRows][kOutputs] = {};
  for (int64_t start = lane * kSpan; start < columns; start += 32 * kSpan) {
    CodeSpan<kType> spans[kOutputs];
    int64_t at = start / 8 * codeBits(kType);
#pragma unroll
    for (int n = 0; n < kOutputs; ++n) {
      const uint8_t* row = static_cast<const uint8_t*>(a.weight.codes) + outputs[n] * a.weight.codeStride;
      spans[n].load(row + at, a.weight.codeStride - at);
    }
    int64_t group = groupOf(a.weight, start);
#pragma unroll
    for (int piece = 0; piece < kSpan / kChunk; ++piece) {
      int64_t column = start + piece * kChunk;
      if (column >= columns) break;
      float numbers[kOutputs][kChunk];
#pragma unroll
      for (int n = 0; n < kOutputs; ++n) {
        GroupScale shared(a.weight, scaleRows[n], group);
        numbersOf<kType, kChunked>(numbers[n], spans[n], piece * kChunk, a, scaleRows[n], column, shared);
      }
#pragma unroll
      for (int m = 0; m < kRows; ++m) {
        float x[kChunk];
        loadInput<kChunked>(x, a.x, firstRow + m, column);
#pragma unroll
        for (int n = 0; n < kOutputs; ++n) {
#pragma unroll
          for (int i = 0; i < kChunk; ++i) sums[m][n] = fmaf(x[i], numbers[n][i], sums[m][n]);
        }
      }
    }
  }

#pragma unroll
  for (int m = 0; m < kRows; ++m) {
#pragma unroll
    for (int n = 0; n < kOutputs; ++n) {
      float sum = warpSum(sums[m][n]);
      if (lane != m * kOutputs + n || firstRow + m >= a.out.rows || firstOutput + n >= a.out.columns) continue;
      if (a.bias.data) sum += loadFloat(a.bias.data, a.bias.dtype, firstOutput + n);
      storeFloat(a.out.data, a.out.dtype, (firstRow + m) * a.out.stride + firstOutput + n, sum);
    }
  }
}

template <CodeType kType, int kRows, bool kChunked>
void launch(const CodedGemvArguments& a, cudaStream_t stream) {
  dim3 grid(static_cast<unsigned>(ceilDivide(a.out.columns, kWarps * kOutputs)),
            static_cast<unsigned>(ceilDivide(a.out.rows, kRows)));
  codedGemvKernel<kType, kRows, kChunked><<<grid, kWarps * 32, 0, stream>>>(a);
}

/** Grids have 65535 rows at most. */
constexpr int64_t kMostRows = 32768;

}  // namespace

void launchQuantizedGemv(const Matrix& out, const Matrix& x, const QuantizedMatrix& weight, const Vector& bias,
                         cudaStream_t stream) {
  for (int64_t first = 0; first < out.rows; first += kMostRows) {
    const int64_t rows = out.rows - first < kMostRows ? out.rows - first : kMostRows;
    const auto from = [&](const Matrix& matrix) {
      const int64_t bytes = first * matrix.stride * static_cast<int64_t>(dtypeBytes(matrix.dtype));
      return Matrix{static_cast<char*>(matrix.data) + bytes, matrix.dtype, rows, matrix.columns, matrix.stride};
    };
    const bool wholeSpans = !weight.groupIndex && weight.groupColumns % kSpan == 0;
    const CodedGemvArguments a{from(out), from(x), weight, bias, wholeSpans};
    forCodeType(weight.codeType, [&]<CodeType kType>() {
      if (!isChunked(x)) launch<kType, 1, false>(a, stream);
      else if (rows == 1) launch<kType, 1, true>(a, stream);
      else launch<kType, 4, true>(a, stream);
    });
  }
  checkLaunch("quantizedGemv");
}

}  // namespace octavo::cuda
