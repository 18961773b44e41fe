// Argument checks of the ops on quantised weights: nothing that a kernel reads or writes lies outside its buffer.
#include <algorithm>
#include <limits>

#include "base/error.h"
#include "binding/ops_binding.h"
#include "binding/ops_upload.h"
#include "binding/ops_weights.h"

namespace octavo {

namespace {

constexpr int64_t kMostCount = std::numeric_limits<int32_t>::max();
constexpr int64_t kMostStored = int64_t{1} << 28;  // rows, columns of a stored tensor: products stay below 63 bits

int64_t ceilDivide(int64_t value, int64_t divisor) { return (value + divisor - 1) / divisor; }

RepackKind readKind(const OpCall& call) {
  constexpr std::pair<const char*, RepackKind> kKinds[] = {
      {"rows", RepackKind::kRows},         {"transpose", RepackKind::kTranspose},
      {"repeat", RepackKind::kRepeat},     {"awqCodes", RepackKind::kAwqCodes},
      {"awqZeros", RepackKind::kAwqZeros}, {"gptqZeros", RepackKind::kGptqZeros},
      {"packedZeros", RepackKind::kPackedZeros}};
  const std::string name = call.fields().text("kind");
  for (const auto& [known, kind] : kKinds) {
    if (name == known) return kind;
  }
  call.fields().refuse("kind", "rows, transpose, repeat, awqCodes, awqZeros, gptqZeros or packedZeros");
}

/** Bytes of the longest row of the result. */
int64_t resultBytes(const Repack& repack) {
  const int64_t rows = repack.firstRow + repack.rows;
  switch (repack.kind) {
    case RepackKind::kRows: return repack.columns * repack.width;
    case RepackKind::kTranspose: return rows * repack.width;
    case RepackKind::kRepeat: return repack.width;
    case RepackKind::kAwqCodes: return rows / 2;
    case RepackKind::kAwqZeros: case RepackKind::kGptqZeros: return rows;
    case RepackKind::kPackedZeros: return repack.columns;
  }
  return 0;
}

int64_t resultRows(const Repack& repack) {
  switch (repack.kind) {
    case RepackKind::kRows: return repack.firstRow + repack.rows;
    case RepackKind::kTranspose: return repack.columns;
    case RepackKind::kAwqCodes: case RepackKind::kAwqZeros: return repack.columns * 8;
    default: return repack.count;
  }
}

void checkWords(const OpCall& call, const Repack& repack) {
  if (repack.kind == RepackKind::kAwqCodes && (repack.rows % 8 != 0 || repack.firstRow % 8 != 0)) {
    call.fields().refuse("rows", "a multiple of 8, from a multiple of 8 on");
  }
  if (repack.kind == RepackKind::kGptqZeros) {
    call.requireEqual("columns", repack.columns, "count · bits / 32", ceilDivide(repack.count * repack.bits, 32));
  }
}

/** Every expert's rows lie in x, and behind those of the expert before. */
void requireExpertRows(const OpCall& call, const std::vector<int32_t>& first, const std::vector<int32_t>& rows,
                       int64_t inputRows) {
  int64_t end = 0;
  for (size_t e = 0; e < first.size(); ++e) {
    const bool isBehind = first[e] >= end && rows[e] >= 0;
    if (rows[e] == 0) continue;
    end = int64_t{first[e]} + rows[e];
    if (isBehind && end <= inputRows) continue;
    throw Error(ErrorCode::kInvalidArgument,
                call.fields().path() + ": expert " + std::to_string(e) + " has rows " + std::to_string(first[e]) +
                    " to " + std::to_string(end) + ": expected rows of x, which has " + std::to_string(inputRows) +
                    ", behind those of the expert before");
  }
}

}  // namespace

Napi::Value callQuantizedLinear(Napi::Env env, const OpCall& call) {
  const Matrix out = call.matrix("out"), x = call.matrix("x");
  const QuantizedMatrix weight = readWeight(call, "weight");
  const Vector bias = call.vector("bias", true);
  call.requireEqual("out.rows", out.rows, "x.rows", x.rows);
  call.requireEqual("out.columns", out.columns, "weight.rows", weight.rows);
  call.requireEqual("x.columns", x.columns, "weight.columns", weight.columns);
  if (bias.data) call.requireEqual("bias.size", bias.size, "weight.rows", weight.rows);
  Upload upload(call.device());
  const LinearScratch scratch = takeScratch(call, upload, x, weight, weight.rows);
  call.ops().linear(out, x, weight, bias, scratch, call.stream());
  return env.Undefined();
}

Napi::Value callGroupedLinear(Napi::Env env, const OpCall& call) {
  const Matrix out = call.matrix("out"), x = call.matrix("x");
  const QuantizedMatrix weight = readWeight(call, "weight");
  const std::vector<int32_t> first = call.fields().int32s("first"), rows = call.fields().int32s("rows");
  const auto count = static_cast<int64_t>(first.size());
  call.requireEqual("rows.length", static_cast<int64_t>(rows.size()), "first.length", count);
  call.requireEqual("out.rows", out.rows, "x.rows", x.rows);
  call.requireEqual("weight.rows", weight.rows, "first.length · out.columns", count * out.columns);
  call.requireEqual("x.columns", x.columns, "weight.columns", weight.columns);
  call.requireEqual("out.columns", out.columns, "a multiple of weight.groupRows",
                    ceilDivide(out.columns, weight.groupRows) * weight.groupRows);
  requireExpertRows(call, first, rows, x.rows);
  Upload upload(call.device());
  const LinearScratch scratch = takeScratch(call, upload, x, weight, out.columns);
  const int32_t most = rows.empty() ? 0 : *std::max_element(rows.begin(), rows.end());
  const ExpertRows experts{static_cast<int32_t>(count), upload.copy(first), upload.copy(rows), most};
  call.ops().groupedLinear(out, x, weight, experts, scratch, call.stream());
  return env.Undefined();
}

Napi::Value callDequantize(Napi::Env env, const OpCall& call) {
  const Matrix out = call.matrix("out");
  const QuantizedMatrix weight = readWeight(call, "weight");
  call.requireEqual("out.rows", out.rows, "weight.rows", weight.rows);
  call.requireEqual("out.columns", out.columns, "weight.columns", weight.columns);
  call.ops().dequantize(out, weight, call.stream());
  return env.Undefined();
}

Napi::Value callArrange(Napi::Env env, const OpCall& call) {
  QuantizedMatrix weight = readWeight(call, "weight");
  if (call.device().device().sharesHostMemory()) return Napi::Boolean::New(env, false);
  Upload upload(call.device());
  const size_t bytes = LinearScratchLayout::arrangeBytes(weight.rows, weight.columns);
  call.ops().arrange(weight, {upload.results<char>(bytes), bytes}, call.stream());
  return Napi::Boolean::New(env, weight.order == CodeOrder::kTiles);
}

Napi::Value callRepack(Napi::Env env, const OpCall& call) {
  const Fields& given = call.fields();
  Repack repack;
  repack.kind = readKind(call);
  repack.firstRow = given.integer("firstRow", 0, kMostStored);
  repack.rows = given.integer("rows", 1, kMostStored);
  repack.columns = given.integer("columns", 1, kMostStored);
  repack.width = static_cast<int32_t>(given.integer("width", 1, 4));
  repack.bits = static_cast<int32_t>(given.integer("bits", 2, 8));
  repack.zeroOffset = static_cast<int32_t>(given.integer("zeroOffset", 0, 1));
  repack.count = given.integer("count", 1, kMostStored);
  repack.stride = given.integer("stride", resultBytes(repack), kMostCount);
  checkWords(call, repack);
  repack.from = call.bytes(given, "from", repack.rows * repack.columns * repack.width);
  repack.to = call.bytes(given, "to", (resultRows(repack) - 1) * repack.stride + resultBytes(repack));
  call.ops().repack(repack, call.stream());
  return env.Undefined();
}

}  // namespace octavo
