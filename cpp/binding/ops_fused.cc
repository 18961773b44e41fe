// Argument checks of fusedLinear, whose places it takes itself.
#include "base/error.h"
#include "binding/ops_weights.h"

namespace octavo {

namespace {

ProductEnd readEnd(const OpCall& call) {
  const std::string name = call.fields().text("end");
  if (name == "store") return ProductEnd::kStore;
  if (name == "add") return ProductEnd::kAdd;
  if (name == "swiglu") return ProductEnd::kSwiglu;
  call.fields().refuse("end", "store, add or swiglu");
}

Matrix takePlace(Upload& upload, DType dtype, int64_t rows, int64_t columns) {
  const size_t bytes = static_cast<size_t>(rows * columns) * dtypeBytes(dtype);
  return {upload.results<char>(bytes), dtype, rows, columns, columns};
}

}  // namespace

Napi::Value callFusedLinear(Napi::Env env, const OpCall& call) {
  const bool hasCodes = call.fields().has("codes");
  FusedLinear fused;
  fused.out = call.matrix("out");
  fused.x = call.matrix("x");
  fused.norm = call.vector("norm", true);
  fused.epsilon = static_cast<float>(call.fields().number("epsilon", 0, 1));
  fused.end = readEnd(call);
  const Matrix weight = hasCodes ? Matrix() : call.matrix("weight");
  const QuantizedMatrix codes = hasCodes ? readWeight(call, "codes") : QuantizedMatrix();
  const int64_t rows = hasCodes ? codes.rows : weight.rows, columns = hasCodes ? codes.columns : weight.columns;
  const Vector bias = call.vector("bias", true);
  call.requireEqual("out.rows", fused.out.rows, "x.rows", fused.x.rows);
  if (fused.end == ProductEnd::kSwiglu) call.requireEqual("2 * out.columns", 2 * fused.out.columns, "weight.rows", rows);
  else call.requireEqual("out.columns", fused.out.columns, "weight.rows", rows);
  call.requireEqual("x.columns", fused.x.columns, "weight.columns", columns);
  if (bias.data) call.requireEqual("bias.size", bias.size, "weight.rows", rows);
  if (fused.norm.data) call.requireEqual("norm.size", fused.norm.size, "x.columns", columns);
  Upload upload(call.device());
  if (fused.norm.data) fused.normed = takePlace(upload, fused.x.dtype, fused.x.rows, columns);
  if (fused.end != ProductEnd::kStore) fused.product = takePlace(upload, fused.x.dtype, fused.x.rows, rows);
  if (!hasCodes) {
    call.ops().fusedLinear(fused, weight, bias, call.stream());
  } else {
    const LinearScratch scratch = takeScratch(call, upload, fused.x, codes, rows);
    call.ops().fusedLinear(fused, codes, bias, scratch, call.stream());
  }
  return env.Undefined();
}

}  // namespace octavo
