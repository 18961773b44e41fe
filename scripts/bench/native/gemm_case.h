// The cases of the GEMM benchmark.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "cuda/gemm/linear_plan.h"
#include "ops/quantized_matrix.h"

namespace octavo::bench {

/** What is reported, and beside which limit. */
enum class GemmFigure {
  kRate,       // TFLOP/s; the tensor cores
  kTime,       // µs; a plain read of the weight
  kReadShare,  // % of the speed of a plain read of the weight
};

/** A weight of codes, without zeros; groups of 0 columns are whole rows. */
struct CodedFormat {
  CodeType type = CodeType::kU4;
  DType scaleType = DType::kBF16;
  int32_t groupRows = 1, groupColumns = 0;
  ActivationQuantization activations;
};

/** out [rows, columns] = x [rows, depth] · weightᵀ [columns, depth]; bf16 but for a weight of codes. */
struct GemmCase {
  std::string name;
  GemmFigure figure = GemmFigure::kRate;
  int64_t rows = 0, columns = 0, depth = 0;
  std::optional<CodedFormat> codes;
  bool forcesAmpere = false;  // run the kernels made for A100-class cards
  int64_t experts = 0, activeExperts = 0;  // of a grouped product: all have a weight, the active ones the rows
  int64_t choices = 0;        // of a step of a mixture: experts a token, drawn anew every turn
  int64_t backColumns = 0, backDepth = 0;  // of the product that follows in the same step, if any
  bool hasActOrder = false;   // columns belong to groups in a random order
  bool givesCodes = false;    // x is quantised before: the product alone is timed, as the peers' figures are
  std::optional<cuda::LinearPlan> plan = {};  // of a dense product on Hopper; without one the engine's choice

  /** Tensor cores multiply 8-bit codes twice as fast. */
  double tensorShare() const { return codes && codes->activations.scaling != ActivationScaling::kNone ? 2 : 1; }
  double flops() const { return 2.0 * static_cast<double>(rows) * static_cast<double>(columns * depth); }
};

/** In the order of the table they are printed in. */
std::vector<GemmCase> gemmCases();

}  // namespace octavo::bench
