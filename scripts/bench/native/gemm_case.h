// The cases of the GEMM benchmark.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace octavo::bench {

/** What is reported, and beside which limit. */
enum class GemmFigure {
  kRate,      // TFLOP/s; the tensor cores
  kReadTime,  // µs; a plain read of the weight
};

/** out [rows, columns] = x [rows, depth] · weightᵀ [columns, depth], all bf16. */
struct GemmCase {
  std::string name;
  GemmFigure figure = GemmFigure::kRate;
  int64_t rows = 0, columns = 0, depth = 0;
  bool forcesAmpere = false;  // run the kernels made for A100-class cards

  double weightBytes() const { return 2.0 * static_cast<double>(columns * depth); }
  double flops() const { return 2.0 * static_cast<double>(rows) * static_cast<double>(columns * depth); }
};

/** In the order of the table they are printed in. */
inline std::vector<GemmCase> gemmCases() {
  using Figure = GemmFigure;
  return {
      {"bf16 4096x4096x4096", Figure::kRate, 4096, 4096, 4096},
      {"bf16 8192x8192x8192", Figure::kRate, 8192, 8192, 8192},
      {"bf16 256x4096x4096", Figure::kReadTime, 256, 4096, 4096},
      {"bf16 8192x8192, M=1", Figure::kReadTime, 1, 8192, 8192},
      {"bf16 8192x8192, M=16", Figure::kReadTime, 16, 8192, 8192},
      {"bf16 8192x8192, M=64", Figure::kReadTime, 64, 8192, 8192},
      {"A100 path: bf16 8192x8192x8192", Figure::kRate, 8192, 8192, 8192, true},
  };
}

}  // namespace octavo::bench
