// Weights of codes in tiles of 64 rows × 64 columns, as mma.m16n8k16 and wgmma.m64 want their left operand.
//
// The tiles of 64 rows follow each other along K, then come the next 64 rows. A tile is four strips of 16 rows, of 128
// bytes a bit of a code. Lane 4g + t of a warp owns 32 codes of a strip, as 16 pairs: pair 4s + i is register i of the
// product's step s: columns 16s + 8(i / 2) + 2t and one further, of row g + 8(i % 2). The codes of a pair lie 16 bits
// apart in one word, so that both are unpacked at once; those of three bits fill a word by fives, and what is left of
// three words is the sixteenth. A lane reads its words, as many as a code has bits, in accesses of 4 (three bits), 8 or
// 16 bytes. Scales and zeros: the 64 of a group together by strips, those of rows g and g + 8 side by side.
#pragma once

#include <cuda_runtime.h>

#include "ops/quantized_matrix.h"

namespace octavo::cuda {

constexpr int kTileRows = QuantizedMatrix::kTileRows, kTileColumns = QuantizedMatrix::kTileColumns;
constexpr int kStripRows = 16, kTileStrips = kTileRows / kStripRows;
constexpr int kTileSteps = kTileColumns / 16, kTilePairs = 4 * kTileSteps;

constexpr int stripBytes(int bits) { return kStripRows * kTileColumns * bits / 8; }
constexpr int tileBytes(int bits) { return kTileStrips * stripBytes(bits); }

/** Where word `word` of lane `lane` lies in its strip, in bytes. */
template <int kBits>
__host__ __device__ constexpr int tileWordOffset(int lane, int word) {
  if (kBits == 2) return lane * 8 + word * 4;
  if (kBits == 3) return word * 128 + lane * 4;
  return word / 4 * 512 + lane * 16 + word % 4 * 4;
}

/** The word of a pair; three bits: the sixteenth has one bit of each code in each word. */
template <int kBits>
__host__ __device__ constexpr int pairWord(int pair) {
  if (kBits == 3) return pair == 15 ? 0 : pair / 5;
  return pair * kBits / 16;
}

/** Where the lower code of a pair begins in its word. */
template <int kBits>
__host__ __device__ constexpr int pairBit(int pair) {
  if (kBits == 3) return pair == 15 ? 15 : pair % 5 * 3;
  return pair * kBits % 16;
}

/** Of the scale or zero of row `row` and group `group`. */
__host__ __device__ constexpr int64_t tileScaleIndex(int64_t groups, int64_t row, int64_t group) {
  return (row / kTileRows * groups + group) * kTileRows + row % kTileRows / kStripRows * kStripRows + row % 8 * 2 +
         row / 8 % 2;
}

/** group = column >> this, of a weight in tiles. */
inline int groupShiftOf(const QuantizedMatrix& weight) {
  int shift = 31;
  while (weight.groups > 1 && weight.groupColumns >> shift == 0) --shift;
  return shift;
}

}  // namespace octavo::cuda
