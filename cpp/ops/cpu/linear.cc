// out = x · weightᵀ + bias. Weights are read once per block of activation rows: a panel of them is converted to
// fp32 in the cache, then multiplied with every row of the block.
#include <algorithm>

#include "ops/cpu/access.h"
#include "ops/cpu/cpu_ops.h"
#include "ops/cpu/scratch.h"

namespace octavo {

using namespace cpu;

namespace {

// A panel of weights and a block of activations, a stretch of depth of each, must share the second-level cache;
// with few rows the panel itself should stay in the first.
constexpr int64_t kFewRows = 8, kNarrowPanel = 4, kWidePanel = 32;
constexpr int64_t kBlockFloats = 128 * 1024;
constexpr int64_t kMinBlockRows = 64, kMaxBlockRows = 256;
constexpr int64_t kMultipliesPerRange = 1 << 16;

/** How one product is cut: blocks of rows × panels of columns. */
struct Cut {
  int64_t blockRows, blocks, panelColumns, panels;

  Cut(int64_t rows, int64_t columns, int64_t depth) {
    const int64_t fitting = kBlockFloats / padded(std::min(depth, kDepthBlock));
    blockRows = std::min(rows, std::clamp(fitting / 4 * 4, kMinBlockRows, kMaxBlockRows));
    blocks = (rows + blockRows - 1) / blockRows;
    panelColumns = rows < kFewRows ? kNarrowPanel : kWidePanel;
    panels = (columns + panelColumns - 1) / panelColumns;
  }
};

/** Rows [first, first + count) as padded fp32: in place where they are that already. */
struct Activations {
  const float* data = nullptr;
  int64_t stride = 0;

  void load(const Matrix& x, int64_t first, int64_t count) {
    if (x.dtype == DType::kF32 && x.columns % kPadding == 0) {
      data = static_cast<const float*>(rowOf(x, first));
      stride = x.stride;
      return;
    }
    stride = padded(x.columns);
    float* rows = scratch(ScratchUse::kInput, count * stride);
    for (int64_t r = 0; r < count; ++r) {
      loadRow(rows + r * stride, x, first + r);
      std::fill(rows + r * stride + x.columns, rows + (r + 1) * stride, 0.0f);
    }
    data = rows;
  }
};

/** Weight rows [first, first + count), depth [start, start + depth), padded to `columns` rows with zeros. */
void loadPanel(float* panel, const Matrix& weight, int64_t first, int64_t count, int64_t columns, int64_t start,
               int64_t depth) {
  const int64_t width = padded(depth);
  for (int64_t n = 0; n < count; ++n) {
    float* row = panel + n * width;
    const void* from = element(rowOf(weight, first + n), weight.dtype, start);
    rowKernels().load(row, from, weight.dtype, depth);
    std::fill(row + depth, row + width, 0.0f);
  }
  std::fill(panel + count * width, panel + columns * width, 0.0f);
}

void storePatch(const Matrix& out, int64_t row, int64_t column, int64_t count, float* values, const Vector& bias) {
  if (bias.data) {
    float biases[kWidePanel];
    rowKernels().load(biases, element(bias.data, bias.dtype, column), bias.dtype, count);
    rowKernels().add(values, biases, count);
  }
  rowKernels().store(element(rowOf(out, row), out.dtype, column), out.dtype, values, count);
}

}  // namespace

void CpuOps::linear(const Matrix& out, const Matrix& x, const Matrix& weight, const Vector& bias, Stream&) {
  const int64_t depth = weight.columns, columns = weight.rows;
  const Cut cut(x.rows, columns, depth);
  const int64_t grain = kMultipliesPerRange / (cut.blockRows * cut.panelColumns * depth) + 1;

  pool_.parallelFor(cut.blocks * cut.panels, grain, [&](int64_t begin, int64_t end) {
    Activations activations;
    float* panel = scratch(ScratchUse::kWeight, cut.panelColumns * padded(std::min(depth, kDepthBlock)));
    float* sums = scratch(ScratchUse::kOutput, cut.blockRows * cut.panelColumns);
    for (int64_t job = begin; job < end; ++job) {
      const int64_t row = job / cut.panels * cut.blockRows, rows = std::min(cut.blockRows, x.rows - row);
      const int64_t column = job % cut.panels * cut.panelColumns, count = std::min(cut.panelColumns, columns - column);
      const int64_t width = (count + kTileColumns - 1) / kTileColumns * kTileColumns;
      if (job == begin || column == 0) activations.load(x, row, rows);
      for (int64_t start = 0; start < depth; start += kDepthBlock) {
        const int64_t stretch = std::min(kDepthBlock, depth - start);
        loadPanel(panel, weight, column, count, width, start, stretch);
        rowKernels().tile(sums, cut.panelColumns, activations.data + start, activations.stride, rows, panel,
                          padded(stretch), width, padded(stretch), start > 0);
      }
      for (int64_t r = 0; r < rows; ++r) {
        storePatch(out, row + r, column, count, sums + r * cut.panelColumns, bias);
      }
    }
  });
}

}  // namespace octavo
