// Codes of four bits in tiles, as cuda/quantized/tiles.cuh has them: strips of 16 rows and 64 columns are what lanes read.
//
// A slot is sixteen strips along K of the same 16 rows, or eight of the gate and eight of up; behind them the scales and
// zeros of its groups, which the memory is too slow to be asked for when they are needed. A warp takes two strips, side by
// side, and where its words and scales lie in a slot is the same for all slots: of a slot's 240 ns, which memory leaves,
// the codes' way to numbers alone takes a half.
#pragma once

#include "cuda/fused/row_weights.cuh"
#include "cuda/quantized/tile_numbers.cuh"

namespace octavo::cuda::rows {

constexpr int kBits = 4, kStripBytes = stripBytes(kBits);
constexpr int kStrips = kSlotBytes / kStripBytes, kShare = kStrips / kTeamWarps;
constexpr int kStripSteps = kTileColumns * 2 / kStepBytes;  // of x beside a strip
constexpr int kHalfScales = 512, kScaleBytes = 2 * kHalfScales;  // of up to 16 groups of a strip, gate and up
constexpr int kHalfZeros = 256, kZeroBytes = 2 * kHalfZeros;
constexpr int kTileSlotBytes = kSlotBytes + kScaleBytes + kZeroBytes;

template <DType kType>
class TileCodes {
 public:
  using Input = InputRows<kType>;
  static constexpr int kTogether = 1;
  static constexpr bool kSeparates = true;  // gate and up

  __device__ __forceinline__ static void bring(const Arguments& a, const Cursor& to, int tile, int piece,
                                               uint64_t policy) {
    const bool gates = a.end == ProductEnd::kSwiglu;
    bringStrips(a, to, tile, piece, 0, policy);
    if (gates) bringStrips(a, to, a.upRow + tile, piece, 1, policy);
  }

  __device__ __forceinline__ TileCodes(const Arguments& a, const uint8_t* shared)
      : input_(reinterpret_cast<const uint4*>(shared + a.layout.input)), rows_(static_cast<int>(a.x.rows)),
        isBf16Scale_(a.scaleType == DType::kBF16), hasZeros_(a.hasZeros), hasSmallGroups_(a.groupShift == 5) {
    const bool gates = a.end == ProductEnd::kSwiglu;
    const int warp = teamWarp(), g = static_cast<int>(threadIdx.x) % 32 / 4;
    pieceSteps_ = (gates ? kStrips / 2 : kStrips) * kStripSteps;
#pragma unroll
    for (int i = 0; i < kShare; ++i) {
      const int column = gates ? warp : kShare * warp + i, half = gates ? i : 0;  // in strips
      const int group = column * kTileColumns >> a.groupShift;  // in the slot; one that is wider is all of it
      steps_[i] = column * kStripSteps;
      words_[i] = static_cast<uint32_t>((half * kStrips / 2 + column) * kStripBytes) + laneOffset<kBits>();
      scalesAt_[i] = static_cast<uint32_t>(kSlotBytes + half * kHalfScales + group * kStripRows * 2 + g * 4);
      zerosAt_[i] = static_cast<uint32_t>(kSlotBytes + kScaleBytes + half * kHalfZeros + group * kStripRows + g * 2);
    }
  }

  __device__ __forceinline__ void beginTile(int) {}

  template <int kSlots>
  __device__ __forceinline__ void prepare(int piece) {
#pragma unroll
    for (int i = 0; i < kShare; ++i) {
      x_[i][0] = inputOf(input_, piece * pieceSteps_ + steps_[i], rows_);
      x_[i][1] = inputOf(input_, piece * pieceSteps_ + steps_[i] + 1, rows_);
    }
  }

  template <int kSlots>
  __device__ __forceinline__ void multiply(Sums& sums, const uint32_t (&slots)[kSlots]) const {
    if (hasSmallGroups_) multiplyStrips<2>(sums, slots[0]);
    else multiplyStrips<1>(sums, slots[0]);
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

  __device__ __forceinline__ Group groupOf(uint32_t scales, uint32_t zeros) const {
    Group found;
    const uint32_t pair = ptx::loadWord(scales);
    float upper, lower;
    unpackF16(pair, upper, lower);
    unpackBf16(pair, found.upper, found.lower);
    if (!isBf16Scale_) {
      found.upper = upper;
      found.lower = lower;
    }
    uint32_t both = middleCode(CodeType::kU4) * 0x101u;
    if (hasZeros_) both = ptx::loadHalfWord(zeros);
    found.offsets[0] = offsetPair<kBits, kType>(both & 0xffu);
    found.offsets[1] = offsetPair<kBits, kType>(both >> 8);
    return found;
  }

  /** The warp's two strips side by side. kGroups of a strip: groups of 32 change within it. */
  template <int kGroups>
  __device__ __forceinline__ void multiplyStrips(Sums& sums, uint32_t slot) const {
    uint32_t words[kShare][kBits];
    Group groups[kShare][kGroups];
#pragma unroll
    for (int i = 0; i < kShare; ++i) {
      ptx::loadFourWords(words[i][0], words[i][1], words[i][2], words[i][3], slot + words_[i]);
#pragma unroll
      for (int j = 0; j < kGroups; ++j) {
        groups[i][j] = groupOf(slot + scalesAt_[i] + static_cast<uint32_t>(j * kStripRows * 2),
                               slot + zerosAt_[i] + static_cast<uint32_t>(j * kStripRows));
      }
    }
    constexpr int kHalves = 2;  // of a strip: a step of x each
    float products[kShare][kGroups][4] = {};
#pragma unroll
    for (int half = 0; half < kHalves; ++half) {
#pragma unroll
      for (int i = 0; i < kShare; ++i) {
        const int group = half % kGroups;
        multiplyHalf(products[i][group], words[i], half, x_[i][half], groups[i][group].offsets);
      }
    }
#pragma unroll
    for (int j = 0; j < kGroups; ++j) {
      add(sums.even, products[0][j], groups[0][j]);
      add(sums.odd, products[1][j], groups[1][j]);
    }
  }

  __device__ __forceinline__ static void multiplyHalf(float (&products)[4], const uint32_t (&words)[kBits], int half,
                                                      const uint4& x, const uint32_t (&offsets)[2]) {
    uint32_t left[4];
    toLeft<kBits, kType>(left, words, 2 * half, offsets);
    ptx::multiplyAdd<kType>(products, left, x.x, x.y);
    toLeft<kBits, kType>(left, words, 2 * half + 1, offsets);
    ptx::multiplyAdd<kType>(products, left, x.z, x.w);
  }

  __device__ __forceinline__ static void add(float (&sums)[4], const float (&products)[4], const Group& group) {
    sums[0] = fmaf(products[0], group.upper, sums[0]);
    sums[1] = fmaf(products[1], group.upper, sums[1]);
    sums[2] = fmaf(products[2], group.lower, sums[2]);
    sums[3] = fmaf(products[3], group.lower, sums[3]);
  }

  const uint4* input_;
  int rows_, pieceSteps_;
  bool isBf16Scale_, hasZeros_, hasSmallGroups_;
  int steps_[kShare];  // of x within a slot
  uint32_t words_[kShare], scalesAt_[kShare], zerosAt_[kShare];  // in a slot
  uint4 x_[kShare][2];
};

}  // namespace octavo::cuda::rows
