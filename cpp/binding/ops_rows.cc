// Argument checks of the ops on rows. Shapes are checked here, once, so that kernels need not.
#include <limits>

#include "base/error.h"
#include "binding/ops_binding.h"
#include "binding/ops_upload.h"

namespace octavo {

namespace {

constexpr double kLargestFloat = std::numeric_limits<float>::max();

void requireSameShape(const OpCall& call, const char* rows, const char* columns, const char* leftName,
                      const Matrix& left, const Matrix& right) {
  call.requireEqual((std::string(leftName) + ".rows").c_str(), left.rows, rows, right.rows);
  call.requireEqual((std::string(leftName) + ".columns").c_str(), left.columns, columns, right.columns);
}

float readEpsilon(const OpCall& call) {
  return static_cast<float>(call.fields().number("epsilon", 0, kLargestFloat));
}

/** Every index must name one of `rows` rows. */
void requireIndices(const OpCall& call, const char* name, const std::vector<int32_t>& indices, int64_t rows) {
  for (size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] >= 0 && indices[i] < rows) continue;
    throw Error(ErrorCode::kInvalidArgument, call.fields().path() + "." + name + "[" + std::to_string(i) + "] is " +
        std::to_string(indices[i]) + ": expected 0 to " + std::to_string(rows - 1));
  }
}

}  // namespace

Napi::Value callConvert(Napi::Env env, const OpCall& call) {
  const Matrix out = call.matrix("out"), from = call.matrix("from");
  requireSameShape(call, "from.rows", "from.columns", "out", out, from);
  if (out.rows > 1) call.requireEqual("out.stride", out.stride, "out.columns", out.columns);
  if (out.rows > 1) call.requireEqual("from.stride", from.stride, "from.columns", from.columns);
  call.ops().convert(out.data, out.dtype, from.data, from.dtype, out.rows * out.columns, call.stream());
  return env.Undefined();
}

Napi::Value callEmbedding(Napi::Env env, const OpCall& call) {
  const Matrix out = call.matrix("out"), table = call.matrix("table");
  const std::vector<int32_t> tokens = call.fields().int32s("tokens");
  call.requireEqual("out.rows", out.rows, "tokens.length", static_cast<int64_t>(tokens.size()));
  call.requireEqual("out.columns", out.columns, "table.columns", table.columns);
  Upload upload(call.device());
  call.ops().embedding(out, upload.copy(tokens), table, call.stream());
  return env.Undefined();
}

Napi::Value callGatherRows(Napi::Env env, const OpCall& call) {
  const Matrix out = call.matrix("out"), from = call.matrix("from");
  const std::vector<int32_t> rows = call.fields().int32s("rows");
  call.requireEqual("out.rows", out.rows, "rows.length", static_cast<int64_t>(rows.size()));
  call.requireEqual("out.columns", out.columns, "from.columns", from.columns);
  requireIndices(call, "rows", rows, from.rows);
  Upload upload(call.device());
  call.ops().gatherRows(out, from, upload.copy(rows), call.stream());
  return env.Undefined();
}

Napi::Value callRmsNorm(Napi::Env env, const OpCall& call) {
  const Matrix out = call.matrix("out"), x = call.matrix("x");
  const Vector weight = call.vector("weight");
  requireSameShape(call, "x.rows", "x.columns", "out", out, x);
  call.requireEqual("weight.size", weight.size, "x.columns", x.columns);
  call.ops().rmsNorm(out, x, weight, readEpsilon(call), call.stream());
  return env.Undefined();
}

Napi::Value callAddRmsNorm(Napi::Env env, const OpCall& call) {
  const Matrix out = call.matrix("out"), residual = call.matrix("residual"), x = call.matrix("x");
  const Vector weight = call.vector("weight");
  requireSameShape(call, "x.rows", "x.columns", "out", out, x);
  requireSameShape(call, "x.rows", "x.columns", "residual", residual, x);
  call.requireEqual("weight.size", weight.size, "x.columns", x.columns);
  call.ops().addRmsNorm(out, residual, x, weight, readEpsilon(call), call.stream());
  return env.Undefined();
}

Napi::Value callAdd(Napi::Env env, const OpCall& call) {
  const Matrix y = call.matrix("y"), x = call.matrix("x");
  requireSameShape(call, "x.rows", "x.columns", "y", y, x);
  call.ops().add(y, x, call.stream());
  return env.Undefined();
}

Napi::Value callHeadNorm(Napi::Env env, const OpCall& call) {
  const Heads heads = call.heads("heads");
  const Vector weight = call.vector("weight");
  call.requireEqual("weight.size", weight.size, "heads.dim", heads.dim);
  call.ops().headNorm(heads, weight, readEpsilon(call), call.stream());
  return env.Undefined();
}

Napi::Value callLinear(Napi::Env env, const OpCall& call) {
  const Matrix out = call.matrix("out"), x = call.matrix("x"), weight = call.matrix("weight");
  const Vector bias = call.vector("bias", true);
  call.requireEqual("out.rows", out.rows, "x.rows", x.rows);
  call.requireEqual("out.columns", out.columns, "weight.rows", weight.rows);
  call.requireEqual("x.columns", x.columns, "weight.columns", weight.columns);
  if (bias.data) call.requireEqual("bias.size", bias.size, "weight.rows", weight.rows);
  call.ops().linear(out, x, weight, bias, call.stream());
  return env.Undefined();
}

Napi::Value callSwiglu(Napi::Env env, const OpCall& call) {
  const Matrix out = call.matrix("out"), gateUp = call.matrix("gateUp");
  call.requireEqual("out.rows", out.rows, "gateUp.rows", gateUp.rows);
  call.requireEqual("2 * out.columns", 2 * out.columns, "gateUp.columns", gateUp.columns);
  call.ops().swiglu(out, gateUp, call.stream());
  return env.Undefined();
}

}  // namespace octavo
