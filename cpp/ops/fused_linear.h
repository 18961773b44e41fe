// A product with what stands before and behind it in a layer.
#pragma once

#include "ops/tensor.h"

namespace octavo {

/** What becomes of a product. */
enum class ProductEnd : uint8_t {
  kStore,   // out = product
  kAdd,     // out += product
  kSwiglu,  // out = swiglu(product): the gate's rows of the weight lie before those of up
};

/**
 * out ← rmsNorm(x) · weightᵀ + bias, or x itself where no norm is given. Every intermediate is rounded to the dtype of its
 * place. The places may be written or not: what they hold afterwards is left open.
 */
struct FusedLinear {
  Matrix out;      // [M, N]; kSwiglu: [M, N / 2]
  Matrix x;        // [M, K]
  Vector norm;     // [K], or absent
  float epsilon = 0;
  ProductEnd end = ProductEnd::kStore;
  Matrix normed;   // [M, K]: where a norm is given
  Matrix product;  // [M, N]: of all ends but kStore
};

/** Up to so many rows ops may be fused; more are bound by other things than by launches. */
constexpr int64_t kMostFusedRows = 8;

}  // namespace octavo
