// Codes and scales to numbers, and activations to codes and back: the definition.
#pragma once

#include "ops/quantized_matrix.h"

namespace octavo::cpu {

/** weight[row, start … start + count) to fp32. */
void dequantizeRow(float* to, const QuantizedMatrix& weight, int64_t row, int64_t start, int64_t count);

/** Codes start … start + count of a row, one a byte. */
void unpackCodes(uint8_t* to, const void* codes, CodeType type, int64_t start, int64_t count);

/** x becomes c · s, as ActivationQuantization says, with codes of `type`: int8 or e4m3. */
void quantizeRow(float* x, int64_t count, CodeType type, const ActivationQuantization& how);

}  // namespace octavo::cpu
