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
};

__device__ __forceinline__ int64_t inputRow(const Matrix& x, int64_t firstRow, int m) {
  return min(firstRow + m, x.rows - 1) * x.stride;  // rows past the end repeat the last; they are not stored
}

template <int kRows>
__device__ __forceinline__ void storeSums(const float (&sums)[kRows][kOutputs], const CodedGemvArguments& a,
                                          int64_t firstRow, int64_t firstOutput) {
  int lane = threadIdx.x % 32;
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

/** Spans that lie in one group, x on 16-byte boundaries. */
template <CodeType kType, int kRows>
__global__ void __launch_bounds__(kWarps * 32) spanGemvKernel(const __grid_constant__ CodedGemvArguments a) {
  int64_t firstOutput = (static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.x / 32) * kOutputs;
  int64_t firstRow = static_cast<int64_t>(blockIdx.y) * kRows, columns = a.weight.columns;
  if (firstOutput >= a.out.columns) return;

  float sums[kRows][kOutputs] = {};
  for (int64_t start = threadIdx.x % 32 * kSpan; start < columns; start += 32 * kSpan) {
    CodeSpan<kType> spans[kOutputs];
    float scales[kOutputs];
    int zeros[kOutputs];
    int64_t at = start / 8 * codeBits(kType), group = groupOf(a.weight, start);
#pragma unroll
    for (int n = 0; n < kOutputs; ++n) {
      int64_t output = min(firstOutput + n, a.out.columns - 1);
      const uint8_t* row = static_cast<const uint8_t*>(a.weight.codes) + output * a.weight.codeStride;
      spans[n].load(row + at, a.weight.codeStride - at);
      GroupScale found(a.weight, scaleRowOf(a.weight, output), group);
      scales[n] = found.scale;
      zeros[n] = found.zero;
    }
#pragma unroll
    for (int piece = 0; piece < kSpan / kChunk; ++piece) {
      int64_t column = start + piece * kChunk;
      if (column >= columns) break;
      float numbers[kOutputs][kChunk];
#pragma unroll
      for (int n = 0; n < kOutputs; ++n) {
#pragma unroll
        for (int i = 0; i < kChunk; ++i) {
          uint32_t code = spans[n].code(piece * kChunk + i);
          numbers[n][i] = __fmul_rn(codeNumber<kType>(code, zeros[n]), scales[n]);
        }
      }
#pragma unroll
      for (int m = 0; m < kRows; ++m) {
        float x[kChunk];
        loadChunk(x, a.x.data, a.x.dtype, inputRow(a.x, firstRow, m) + column);
#pragma unroll
        for (int n = 0; n < kOutputs; ++n) {
#pragma unroll
          for (int i = 0; i < kChunk; ++i) sums[m][n] = fmaf(x[i], numbers[n][i], sums[m][n]);
        }
      }
    }
  }
  storeSums(sums, a, firstRow, firstOutput);
}

/** Any groups, act-order too, and any alignment of x: eight columns a lane. */
template <CodeType kType, int kRows>
__global__ void __launch_bounds__(kWarps * 32) chunkGemvKernel(const __grid_constant__ CodedGemvArguments a) {
  int64_t firstOutput = (static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.x / 32) * kOutputs;
  int64_t firstRow = static_cast<int64_t>(blockIdx.y) * kRows, columns = a.weight.columns;
  if (firstOutput >= a.out.columns) return;

  float sums[kRows][kOutputs] = {};
  for (int64_t column = threadIdx.x % 32 * kChunk; column < columns; column += 32 * kChunk) {
    float x[kRows][kChunk];
#pragma unroll
    for (int m = 0; m < kRows; ++m) {
      int64_t index = inputRow(a.x, firstRow, m) + column;
#pragma unroll
      for (int i = 0; i < kChunk; ++i) {
        x[m][i] = column + i < columns ? loadFloat(a.x.data, a.x.dtype, index + i) : 0.0f;
      }
    }
#pragma unroll
    for (int n = 0; n < kOutputs; ++n) {
      float numbers[kChunk];
      loadNumbers<kType>(numbers, a.weight, min(firstOutput + n, a.out.columns - 1), column);
#pragma unroll
      for (int m = 0; m < kRows; ++m) {
#pragma unroll
        for (int i = 0; i < kChunk; ++i) sums[m][n] = fmaf(x[m][i], numbers[i], sums[m][n]);
      }
    }
  }
  storeSums(sums, a, firstRow, firstOutput);
}

template <CodeType kType, int kRows>
void launch(const CodedGemvArguments& a, cudaStream_t stream) {
  dim3 grid(static_cast<unsigned>(ceilDivide(a.out.columns, kWarps * kOutputs)),
            static_cast<unsigned>(ceilDivide(a.out.rows, kRows)));
  const bool inRows = a.weight.order == CodeOrder::kRows && !a.weight.groupIndex;
  const bool wholeSpans = inRows && (a.weight.groups == 1 || a.weight.groupColumns % kSpan == 0);
  if (wholeSpans && isChunked(a.x)) spanGemvKernel<kType, kRows><<<grid, kWarps * 32, 0, stream>>>(a);
  else chunkGemvKernel<kType, kRows><<<grid, kWarps * 32, 0, stream>>>(a);
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
    const CodedGemvArguments a{from(out), from(x), weight, bias};
    forCodeType(weight.codeType, [&]<CodeType kType>() {
      if (rows == 1) launch<kType, 1>(a, stream);
      else launch<kType, 4>(a, stream);
    });
  }
  checkLaunch("quantizedGemv");
}

}  // namespace octavo::cuda
