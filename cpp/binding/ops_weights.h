// Weights of codes as JavaScript describes them, and what products with them may use.
#pragma once

#include "binding/ops_binding.h"
#include "binding/ops_upload.h"

namespace octavo {

/** A JavaScript weight was checked when it was uploaded; here are what its buffers hold. Throws kInvalidArgument. */
QuantizedMatrix readWeight(const OpCall& call, const char* name);

/** For a product of x with `rows` rows of the weight at a time; none where memory is the host's. Throws kOutOfMemory. */
LinearScratch takeScratch(const OpCall& call, Upload& upload, const Matrix& x, const QuantizedMatrix& weight,
                          int64_t rows);

}  // namespace octavo
