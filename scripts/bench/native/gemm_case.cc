#include "scripts/bench/native/gemm_case.h"

namespace octavo::bench {

namespace {

using Figure = GemmFigure;

const CodedFormat kW4 = {CodeType::kU4, DType::kBF16, 1, 128, {}};
const CodedFormat kW3 = {CodeType::kU3, DType::kBF16, 1, 128, {}};
const CodedFormat kFp8 = {CodeType::kE4M3, DType::kF32, 1, 0, {ActivationScaling::kToken, 0, 0}};
const CodedFormat kFp8Blocks = {CodeType::kE4M3, DType::kF32, 128, 128, {ActivationScaling::kGroup, 128, 0}};
const CodedFormat kInt8 = {CodeType::kI8, DType::kF32, 1, 0, {ActivationScaling::kToken, 0, 0}};

GemmCase square(const std::string& format, Figure figure, int64_t rows, std::optional<CodedFormat> codes) {
  return {format + " 8192x8192, M=" + std::to_string(rows), figure, rows, 8192, 8192, std::move(codes)};
}

/** Alone, as the peers' figures are, and with the quantisation of x. */
void addProduct(std::vector<GemmCase>& cases, const std::string& format, Figure figure, int64_t rows,
                const CodedFormat& codes) {
  cases.push_back(square(format, figure, rows, codes));
  cases.back().givesCodes = true;
  cases.push_back(square(format, figure, rows, codes));
  cases.back().name += ", with quantisation";
}

void addDense(std::vector<GemmCase>& cases) {
  cases.push_back({"bf16 4096x4096x4096", Figure::kRate, 4096, 4096, 4096, {}});
  cases.push_back({"bf16 8192x8192x8192", Figure::kRate, 8192, 8192, 8192, {}});
  cases.push_back({"bf16 256x4096x4096", Figure::kTime, 256, 4096, 4096, {}});
  for (int64_t rows : {1, 16, 32, 64, 128}) cases.push_back(square("bf16", Figure::kTime, rows, {}));
}

/** The layers of an 8B model: K × N of decodes, M × N × K of prompts. */
void addLayers(std::vector<GemmCase>& cases, const std::string& format) {
  constexpr int64_t kLayers[][2] = {{6144, 4096}, {4096, 4096}, {28672, 4096}, {4096, 14336}, {128256, 4096}};
  const auto joined = [](int64_t a, int64_t b) { return std::to_string(a) + "x" + std::to_string(b); };
  for (const auto& [columns, depth] : kLayers) {
    for (int64_t rows : {64, 128}) {
      const std::string name = format + " " + joined(depth, columns) + ", M=" + std::to_string(rows);
      cases.push_back({name, Figure::kTime, rows, columns, depth, {}});
    }
  }
  for (int64_t rows : {512, 1024}) {
    for (const auto& [columns, depth] : kLayers) {
      if (columns == 128256) continue;  // of a prompt only the last row has logits
      const std::string name = format + " " + std::to_string(rows) + "x" + joined(columns, depth);
      cases.push_back({name, Figure::kRate, rows, columns, depth, {}});
    }
  }
}

/** Few rows of the layers of an 8B model, beside those that a bar names. */
void addFewRows(std::vector<GemmCase>& cases) {
  const auto add = [&](const std::string& name, int64_t rows, int64_t columns, int64_t depth) {
    cases.push_back({"W4A16 " + name + ", M=" + std::to_string(rows), Figure::kTime, rows, columns, depth, kW4});
  };
  add("8192x8192", 8, 8192, 8192);
  for (int64_t rows : {8, 16, 32}) add("4096x28672", rows, 28672, 4096);
  for (int64_t rows : {8, 16, 32}) add("14336x4096", rows, 4096, 14336);
  for (int64_t rows : {1, 16}) add("4096x6144", rows, 6144, 4096);
  for (int64_t rows : {1, 16}) add("4096x4096", rows, 4096, 4096);
  for (int64_t rows : {1, 32}) cases.push_back(square("W3A16", Figure::kTime, rows, kW3));
  for (int64_t rows : {1, 16}) {
    cases.push_back(square("W4A16 act-order", Figure::kTime, rows, kW4));
    cases.back().hasActOrder = true;
  }
}

void addCoded(std::vector<GemmCase>& cases) {
  for (int64_t rows : {1, 16, 32, 64}) cases.push_back(square("W4A16", Figure::kTime, rows, kW4));
  cases.push_back({"W4A16 4096x28672, M=1", Figure::kTime, 1, 28672, 4096, kW4});
  cases.push_back({"W4A16 14336x4096, M=1", Figure::kTime, 1, 4096, 14336, kW4});
  for (int64_t rows : {128, 256}) cases.push_back(square("W4A16", Figure::kTime, rows, kW4));
  cases.push_back(square("W4A16", Figure::kRate, 4096, kW4));
  cases.push_back(square("W3A16", Figure::kTime, 16, kW3));
  addFewRows(cases);
  for (int64_t rows : {1, 64, 256}) addProduct(cases, "FP8 channel/token", Figure::kTime, rows, kFp8);
  addProduct(cases, "FP8 channel/token", Figure::kRate, 4096, kFp8);
  for (int64_t rows : {16, 64, 128}) addProduct(cases, "FP8 blocks", Figure::kTime, rows, kFp8Blocks);
  addProduct(cases, "FP8 blocks", Figure::kRate, 4096, kFp8Blocks);
  for (int64_t rows : {1, 64}) addProduct(cases, "INT8 W8A8", Figure::kReadShare, rows, kInt8);
  addProduct(cases, "INT8 W8A8", Figure::kRate, 4096, kInt8);
}

void addGrouped(std::vector<GemmCase>& cases) {
  const auto add = [&](const std::string& name, Figure figure, int64_t rows, int64_t active) {
    GemmCase one{name, figure, rows, 4096, 7168, kFp8Blocks};
    one.experts = 256;
    one.activeExperts = active;
    one.givesCodes = true;
    cases.push_back(one);
  };
  const std::string format = "grouped FP8 blocks ", contiguous = format + "256 experts 4096x7168, ";
  add(contiguous + "128 rows each", Figure::kRate, 256 * 128, 256);
  add(contiguous + "512 rows each", Figure::kRate, 256 * 512, 256);
  add(format + "masked, 4 rows in each of 64 experts", Figure::kReadShare, 64 * 4, 64);
}

/** A step of a mixture of 128 experts of which a token takes 8: gate and up in one, and the way back. */
void addMixture(std::vector<GemmCase>& cases) {
  for (int64_t batch : {1, 16}) {
    GemmCase step{"grouped W4A16 decode 128 experts top-8, batch " + std::to_string(batch), Figure::kReadShare,
                  batch * 8, 1536, 2048, kW4};
    step.experts = 128;
    step.choices = 8;
    GemmCase back = step;
    back.name += ", the way back alone";
    back.columns = step.backColumns = 2048;
    back.depth = step.backDepth = 768;
    cases.push_back(step);
    cases.push_back(back);
  }
}

}  // namespace

std::vector<GemmCase> gemmCases() {
  std::vector<GemmCase> cases;
  addDense(cases);
  addLayers(cases, "bf16");
  addCoded(cases);
  addGrouped(cases);
  addMixture(cases);
  cases.push_back({"A100 path: bf16 8192x8192x8192", Figure::kRate, 8192, 8192, 8192, {}, true});
  cases.push_back({"A100 path: W4A16 8192x8192, M=16", Figure::kTime, 16, 8192, 8192, kW4, true});
  return cases;
}

}  // namespace octavo::bench
