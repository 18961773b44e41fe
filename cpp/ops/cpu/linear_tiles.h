// out = x · weightᵀ + bias for any kind of weight. It is read once per block of activation rows: a panel of it becomes
// fp32 in the cache, then multiplied with every row of the block.
#pragma once

#include <algorithm>

#include "base/thread_pool.h"
#include "ops/cpu/access.h"
#include "ops/cpu/scratch.h"

namespace octavo::cpu {

// A panel of weights and a block of activations, a stretch of depth of each, must share the second-level cache. With
// few rows a narrow panel of whole rows is read at a time, in their order in memory; with one, nothing is converted
// ahead at all.
constexpr int64_t kFewRows = 8, kNarrowPanel = 4, kWidePanel = 32;
constexpr int64_t kBlockFloats = 128 * 1024;
constexpr int64_t kMinBlockRows = 64, kMaxBlockRows = 256;
constexpr int64_t kMultipliesPerRange = 1 << 16;

/** How one product is cut: blocks of rows × panels of columns. */
struct Cut {
  int64_t blockRows, blocks, panelColumns, panels;
  int64_t panelDepth;  // of what is converted at a time

  Cut(int64_t rows, int64_t columns, int64_t depth) {
    const int64_t fitting = kBlockFloats / padded(std::min(depth, kDepthBlock));
    blockRows = std::min(rows, std::clamp(fitting / 4 * 4, kMinBlockRows, kMaxBlockRows));
    blocks = (rows + blockRows - 1) / blockRows;
    panelColumns = rows < kFewRows ? kNarrowPanel : kWidePanel;
    panels = (columns + panelColumns - 1) / panelColumns;
    panelDepth = rows < kFewRows ? depth : std::min(depth, kDepthBlock);
  }
};

/** Rows [first, first + count) as padded fp32: in place where they are that already and stay as they are. */
struct Activations {
  const float* data = nullptr;
  int64_t stride = 0;

  /** `change(row)`, where it changes anything, is what the weight makes of a row before it meets it. */
  template <typename Weight>
  void load(const Matrix& x, const Weight& weight, int64_t first, int64_t count) {
    if (x.dtype == DType::kF32 && x.columns % kPadding == 0 && !weight.changesInput()) {
      data = static_cast<const float*>(rowOf(x, first));
      stride = x.stride;
      return;
    }
    stride = padded(x.columns);
    float* rows = scratch(ScratchUse::kInput, count * stride);
    for (int64_t r = 0; r < count; ++r) {
      loadRow(rows + r * stride, x, first + r);
      weight.changeInput(rows + r * stride);
      std::fill(rows + r * stride + x.columns, rows + (r + 1) * stride, 0.0f);
    }
    data = rows;
  }
};

inline void storePatch(const Matrix& out, int64_t row, int64_t column, int64_t count, float* values,
                       const Vector& bias) {
  if (bias.data) {
    float biases[kWidePanel];
    rowKernels().load(biases, element(bias.data, bias.dtype, column), bias.dtype, count);
    rowKernels().add(values, biases, count);
  }
  rowKernels().store(element(rowOf(out, row), out.dtype, column), out.dtype, values, count);
}

/** Weight rows [first, first + count), depth [start, start + depth), padded to `columns` rows with zeros. */
template <typename Weight>
void loadPanel(float* panel, const Weight& weight, int64_t first, int64_t count, int64_t columns, int64_t start,
               int64_t depth) {
  const int64_t width = padded(depth);
  for (int64_t n = 0; n < count; ++n) {
    float* row = panel + n * width;
    weight.load(row, first + n, start, depth);
    std::fill(row + depth, row + width, 0.0f);
  }
  std::fill(panel + count * width, panel + columns * width, 0.0f);
}

/** The product with a single row of activations: as fast as the weights can be read. */
template <typename Weight>
void multiplyRow(const Matrix& out, const Matrix& x, const Weight& weight, const Vector& bias, int64_t begin,
                 int64_t end) {
  Activations activations;
  activations.load(x, weight, 0, 1);
  float sums[kWidePanel];
  for (int64_t n = begin; n < end; n += kWidePanel) {
    const int64_t count = std::min(kWidePanel, end - n);
    weight.dots(sums, activations.data, n, count);
    storePatch(out, 0, n, count, sums, bias);
  }
}

/** One block of rows times one panel of columns. */
struct Patch {
  int64_t row, rows, column, columns;

  Patch(const Cut& cut, int64_t job, const Matrix& out) {
    row = job / cut.panels * cut.blockRows;
    rows = std::min(cut.blockRows, out.rows - row);
    column = job % cut.panels * cut.panelColumns;
    columns = std::min(cut.panelColumns, out.columns - column);
  }
};

/** sums[r, n] of a patch: depth in stretches of kDepthBlock whatever the panel's depth, for the sums' order. */
template <typename Weight>
void multiply(float* sums, float* panel, const Activations& x, const Weight& weight, const Patch& patch,
              const Cut& cut) {
  const int64_t depth = weight.columns(), width = (patch.columns + kTileColumns - 1) / kTileColumns * kTileColumns;
  for (int64_t first = 0; first < depth; first += cut.panelDepth) {
    const int64_t loaded = std::min(cut.panelDepth, depth - first);
    loadPanel(panel, weight, patch.column, patch.columns, width, first, loaded);
    for (int64_t start = 0; start < loaded; start += kDepthBlock) {
      const int64_t stretch = padded(std::min(kDepthBlock, loaded - start));
      rowKernels().tile(sums, cut.panelColumns, x.data + first + start, x.stride, patch.rows, panel + start,
                        padded(loaded), width, stretch, first + start > 0);
    }
  }
}

/**
 * The product. A Weight is [rows(), columns()] and has `load(to, row, start, depth)` for its numbers as fp32,
 * `dots(out, x, row, count)` for its products with one padded row, and `changesInput()`, `changeInput(row)` for what it
 * makes of a row of x first.
 */
template <typename Weight>
void multiplyAll(ThreadPool& pool, const Matrix& out, const Matrix& x, const Weight& weight, const Vector& bias) {
  if (x.rows == 1) {
    pool.parallelFor(weight.rows(), kMultipliesPerRange / weight.columns() + 1, [&](int64_t begin, int64_t end) {
      multiplyRow(out, x, weight, bias, begin, end);
    });
    return;
  }
  const Cut cut(x.rows, weight.rows(), weight.columns());
  const int64_t grain = kMultipliesPerRange / (cut.blockRows * cut.panelColumns * weight.columns()) + 1;

  pool.parallelFor(cut.blocks * cut.panels, grain, [&](int64_t begin, int64_t end) {
    Activations activations;
    float* panel = scratch(ScratchUse::kWeight, cut.panelColumns * padded(cut.panelDepth));
    float* sums = scratch(ScratchUse::kOutput, cut.blockRows * cut.panelColumns);
    for (int64_t job = begin; job < end; ++job) {
      const Patch patch(cut, job, out);
      if (job == begin || patch.column == 0) activations.load(x, weight, patch.row, patch.rows);
      multiply(sums, panel, activations, weight, patch, cut);
      for (int64_t r = 0; r < patch.rows; ++r) {
        storePatch(out, patch.row + r, patch.column, patch.columns, sums + r * cut.panelColumns, bias);
      }
    }
  });
}

}  // namespace octavo::cpu
