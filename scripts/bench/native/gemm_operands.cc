#include "scripts/bench/native/gemm_operands.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "scripts/bench/native/values.h"

namespace octavo::bench {

namespace {

constexpr int64_t kGuardRows = 128;  // the largest tile
constexpr int64_t kSamples = 256;

size_t elements(int64_t rows, int64_t columns) { return static_cast<size_t>(rows * columns); }

std::unique_ptr<GemmWeight> makeWeight(const GemmCase& of, cudaStream_t stream) {
  if (of.choices > 0) return expertsWeight(of, stream);
  if (of.experts > 0) return groupedWeight(of);
  return of.codes ? codedWeight(of) : denseWeight(of, stream);
}

}  // namespace

GemmOperands::GemmOperands(const GemmCase& of, cudaStream_t stream)
    : case_(of),
      weight_(makeWeight(of, stream)),
      x_(elements(of.rows + kGuardRows, of.depth)),
      out_(elements(of.rows + kGuardRows, of.columns)) {
  x_.fill(kPoison);
  out_.fill(kPoison);
  fillUniform(x_.data(), elements(of.rows, of.depth), 1, stream);
}

bool GemmOperands::isGuardWhole() const {
  const size_t first = elements(case_.rows, case_.columns);
  const std::vector<uint16_t> guard = out_.copy(first, out_.count() - first);
  return std::all_of(guard.begin(), guard.end(), [](uint16_t bits) { return bits == 0xffff; });
}

std::vector<float> GemmOperands::inputRow(int64_t row) const {
  std::vector<float> numbers;
  for (uint16_t bits : x_.copy(elements(row, case_.depth), case_.depth)) numbers.push_back(bf16ToFloat(bits));
  weight_->changeInput(numbers);
  return numbers;
}

double GemmOperands::error(int turn) const {
  if (!isGuardWhole()) return std::numeric_limits<double>::quiet_NaN();
  double worst = 0;
  for (int64_t i = 0; i < kSamples; ++i) {
    const int64_t row = i * (case_.rows - 1) / (kSamples - 1);  // the first, the last and some between
    const int64_t column = i * 7919 % case_.columns;
    const std::vector<float> a = inputRow(row), b = weight_->rowFor(turn, row, column);
    double sum = 0, magnitude = 0;
    for (size_t k = 0; k < a.size(); ++k) {
      const double product = double{a[k]} * b[k];
      sum += product;
      magnitude += std::abs(product);
    }
    const double found = bf16ToFloat(out_.copy(elements(row, case_.columns) + column, 1)[0]);
    const double error = std::abs(found - sum) / magnitude;
    if (std::isnan(error)) return error;
    worst = std::max(worst, error);
  }
  return worst;
}

}  // namespace octavo::bench
