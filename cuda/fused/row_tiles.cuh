// Codes of four bits in tiles, as cuda/quantized/tiles.cuh has them: strips of 16 rows and 64 columns are what lanes read.
//
// A slot is sixteen strips along K of the same 16 rows, or eight of the gate and eight of up; behind them the scales and
// zeros of its groups, which the memory is too slow to be asked for when they are needed. A warp takes two strips.
#pragma once

#include "cuda/fused/row_weights.cuh"
#include "cuda/quantized/tile_numbers.cuh"

namespace octavo::cuda::rows {

constexpr int kBits = 4, kStripBytes = stripBytes(kBits);
constexpr int kStrips = kSlotBytes / kStripBytes;
constexpr int kHalfScales = 512, kScaleBytes = 2 * kHalfScales;  // of up to 16 groups of a strip, gate and up
constexpr int kHalfZeros = 256, kZeroBytes = 2 * kHalfZeros;
constexpr int kTileSlotBytes = kSlotBytes + kScaleBytes + kZeroBytes;

template <DType kType>
class TileCodes {
 public:
  using Input = InputRows<kType>;
  static constexpr bool kSeparates = true;  // gate and up

  __device__ __forceinline__ static void bring(const Arguments& a, const Cursor& to, int tile, int piece,
                                               uint64_t policy) {
    const bool gates = a.end == ProductEnd::kSwiglu;
    bringStrips(a, to, tile, piece, 0, policy);
    if (gates) bringStrips(a, to, a.upRow + tile, piece, 1, policy);
  }

  __device__ __forceinline__ TileCodes(const Arguments& a, const uint8_t* shared)
      : a_(a), input_(reinterpret_cast<const uint4*>(shared + a.layout.input)), rows_(static_cast<int>(a.x.rows)),
        gates_(a.end == ProductEnd::kSwiglu) {}

  __device__ __forceinline__ void beginTile(int) {}

  __device__ __forceinline__ void prepare(int piece) {
    const int strips = gates_ ? kStrips / 2 : kStrips, share = strips / kWarps;
    step_ = (piece * strips + static_cast<int>(threadIdx.x) / 32 * share) * 2;
    x_[0] = inputOf(input_, step_, rows_);
    x_[1] = inputOf(input_, step_ + 1, rows_);
  }

  __device__ __forceinline__ void multiply(Sums& sums, uint32_t slot) {
    const int warp = static_cast<int>(threadIdx.x) / 32;
    if (gates_) {
      multiplyStrip(sums.even, slot, warp, warp, 0);
      multiplyStrip(sums.odd, slot, kWarps + warp, warp, 1);
      return;
    }
    multiplyStrip(sums.even, slot, 2 * warp, 2 * warp, 0);
    x_[0] = inputOf(input_, step_ + 2, rows_);
    x_[1] = inputOf(input_, step_ + 3, rows_);
    multiplyStrip(sums.odd, slot, 2 * warp + 1, 2 * warp + 1, 0);
  }

 private:
  /** `row`: in tiles of 16 rows; `half`: 0, or 1 for those of up. */
  __device__ __forceinline__ static void bringStrips(const Arguments& a, const Cursor& to, int row, int piece, int half,
                                                     uint64_t policy) {
    const int strips = a.end == ProductEnd::kSwiglu ? kStrips / 2 : kStrips;
    const int column = piece * strips * kTileColumns, group = column >> a.groupShift;
    const int strip = row % kTileStrips, tile = row / kTileStrips;
    const uint32_t slot = to.address(), scales = slot + kSlotBytes + static_cast<uint32_t>(half * kHalfScales);
    const uint32_t zeros = slot + kSlotBytes + kScaleBytes + static_cast<uint32_t>(half * kHalfZeros);
    ptx::loadTile(slot + static_cast<uint32_t>(half * (kSlotBytes / 2)), &a.map, to.full(), 0, strip, piece * strips,
                  tile, policy);
    ptx::loadTile(scales, &a.scaleMap, to.full(), strip * kStripRows, group, tile, 0, policy);
    if (a.hasZeros) ptx::loadTile(zeros, &a.zeroMap, to.full(), strip * kStripRows, group, tile, 0, policy);
  }

  /** What turns codes of rows g and g + 8 of a group into numbers. */
  struct Group {
    float upper, lower;
    uint32_t offsets[2];
  };

  __device__ __forceinline__ Group groupOf(uint32_t slot, int group, int half) const {
    const int g = static_cast<int>(threadIdx.x) % 32 / 4;
    const uint32_t scales = slot + kSlotBytes + static_cast<uint32_t>(half * kHalfScales + group * 32 + g * 4);
    Group found;
    const uint32_t pair = ptx::loadWord(scales);
    if (a_.scaleType == DType::kBF16) unpackBf16(pair, found.upper, found.lower);
    else unpackF16(pair, found.upper, found.lower);
    uint32_t zeros = middleCode(CodeType::kU4) * 0x101u;
    if (a_.hasZeros) {
      zeros = ptx::loadHalfWord(slot + kSlotBytes + kScaleBytes +
                                static_cast<uint32_t>(half * kHalfZeros + group * kStripRows + g * 2));
    }
    found.offsets[0] = offsetPair<kBits, kType>(zeros & 0xffu);
    found.offsets[1] = offsetPair<kBits, kType>(zeros >> 8);
    return found;
  }

  /** `strip` of the slot, `column` of its columns of 64. Groups of 32 change within a strip. */
  __device__ __forceinline__ void multiplyStrip(float (&sums)[4], uint32_t slot, int strip, int column, int half) const {
    uint32_t words[kBits];
    ptx::loadFourWords(words[0], words[1], words[2], words[3],
                       slot + static_cast<uint32_t>(strip * kStripBytes) + laneOffset<kBits>());
    const int first = column * kTileColumns;
    Group group = groupOf(slot, groupAt(first), half);
    float products[4] = {};
    multiplySteps<0>(products, words, x_[0], group.offsets);
    if (a_.groupShift == 5) {
      add(sums, products, group);
      group = groupOf(slot, groupAt(first + 32), half);
#pragma unroll
      for (float& product : products) product = 0;
    }
    multiplySteps<2>(products, words, x_[1], group.offsets);
    add(sums, products, group);
  }

  /** A group within the slot; one that is wider than a slot is all of it. */
  __device__ __forceinline__ int groupAt(int column) const { return (column >> a_.groupShift) % a_.slotGroups; }

  template <int kStep>
  __device__ __forceinline__ static void multiplySteps(float (&products)[4], const uint32_t (&words)[kBits],
                                                       const uint4& x, const uint32_t (&offsets)[2]) {
    uint32_t left[4];
    toLeft<kBits, kType>(left, words, kStep, offsets);
    ptx::multiplyAdd<kType>(products, left, x.x, x.y);
    toLeft<kBits, kType>(left, words, kStep + 1, offsets);
    ptx::multiplyAdd<kType>(products, left, x.z, x.w);
  }

  __device__ __forceinline__ static void add(float (&sums)[4], const float (&products)[4], const Group& group) {
    sums[0] = fmaf(products[0], group.upper, sums[0]);
    sums[1] = fmaf(products[1], group.upper, sums[1]);
    sums[2] = fmaf(products[2], group.lower, sums[2]);
    sums[3] = fmaf(products[3], group.lower, sums[3]);
  }

  const Arguments& a_;
  const uint4* input_;
  int rows_;
  bool gates_;
  int step_ = 0;
  uint4 x_[2];
};

}  // namespace octavo::cuda::rows
