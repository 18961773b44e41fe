// Products of small tiles, as tensor cores add them up: the products of a step along K among themselves, then to what
// was there.
#pragma once

#include <cstdint>

namespace octavo::emulator {

/** sums[rows × columns] += left[rows × depth] · right[depth × columns]; `step` of K at a time; columns in eights. */
void addProducts(float* sums, const float* left, const float* right, int rows, int columns, int depth, int step);
/** The same of integers below 2^24 a step: exact. */
void addProducts(int32_t* sums, const float* left, const float* right, int rows, int columns, int depth, int step);

}  // namespace octavo::emulator
