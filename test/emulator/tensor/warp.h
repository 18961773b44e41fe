// What the 32 lanes of a warp do together with matrices: ldmatrix, stmatrix, movmatrix, mma.sync. Every lane calls it.
#pragma once

#include <cstdint>

#include "tensor/numbers.h"

namespace octavo::emulator {

/** `count` matrices of 8 × 8 of 16 bits; lane i gives the address of row i % 8 of matrix i / 8. */
void loadMatrices(uint32_t* registers, int count, uint32_t address, bool isTransposed);
/** Four of them. */
void storeMatrices(uint32_t address, const uint32_t* registers, bool isTransposed);
uint32_t transposeMatrix(uint32_t pair);

/** c[16 × 8] += a[16 × K] · b[8 × K]ᵀ, K being 32 bytes. */
void multiplyWarp(Format format, void* c, const uint32_t* a, uint32_t b0, uint32_t b1);

}  // namespace octavo::emulator
