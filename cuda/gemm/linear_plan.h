// How a product of many rows is divided into tiles, chosen by what each division is predicted to cost.
#pragma once

#include <cstdint>
#include <vector>

#include "cuda/device/device_traits.h"
#include "ops/linear_trial.h"

namespace octavo::cuda {

/** Of sm_90a code: tiles of 64 rows are the fitted kernel's, of 128 the wide one's. Else those of kAmpereTiles. */
struct LinearPlan : LinearTile {
  double clocks = 0;  // predicted, of the whole product
};

/** Tiles of which the kernels have instances. */
constexpr int kFittedRows = 64, kWideRows = 128;
constexpr int kFittedColumns[] = {16, 32, 48, 64, 96, 128, 192, 224, 256};
constexpr int kWideColumns[] = {64, 128, 192, 256};
/** Of mma.sync: the first two are tensor_gemm.cu's, the last is large_gemm.cu's. */
constexpr int kLargeRows = 128, kLargeColumns = 256;
constexpr LinearTile kAmpereTiles[] = {{64, 32}, {64, 128}, {kLargeRows, kLargeColumns}};

/** out [rows, columns] = x [rows, depth] · weightᵀ; more than 16 rows. */
struct LinearShape {
  int64_t rows, columns, depth;
};

/** Every division that can be launched on the device. */
std::vector<LinearPlan> linearPlans(const LinearShape& shape, const DeviceTraits& traits);

/** The cheapest of them. */
LinearPlan planLinear(const LinearShape& shape, const DeviceTraits& traits);

/** The prediction for one that is among them. */
double clocksOf(const LinearShape& shape, const LinearTile& tile, const DeviceTraits& traits);

/** Where K is divided a row's last bits depend on the number of rows: it must be so many times as fast. */
constexpr double kDivision = 1.08;

/** True where it may be divided: with few rows the weight is most of what is read, and rows keep their bits. */
constexpr bool mayDivideDepth(int64_t rows) { return rows > kFittedRows; }

}  // namespace octavo::cuda
