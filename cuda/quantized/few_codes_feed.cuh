// The copies that fill the ring of few_codes.cuh: every warp brings the codes and scales that it multiplies itself, the
// warps of a team together the rows of x.
#pragma once

#include "cuda/ptx/named_barriers.cuh"
#include "cuda/ptx/warp_mma.cuh"
#include "cuda/quantized/few_codes_share.cuh"

namespace octavo::cuda {

/** Where a warp stands: its team takes every `teams`-th tile of K, and it takes its part of a pass's strips. */
struct FewCodesPlace {
  int team, teams, warp, warps;  // the latter two: within the team
  int begin, last;               // tiles of K of this block

  __device__ __forceinline__ FewCodesPlace(const FewCodesArguments& a, int blockWarps) {
    int all = threadIdx.x / 32;
    int rank = static_cast<int>(ptx::clusterRank()), ranks = static_cast<int>(ptx::clusterSize());
    warps = a.teamWarps;
    teams = blockWarps / warps;
    team = all / warps;
    warp = all - team * warps;
    begin = a.tiles * rank / ranks;
    last = a.tiles * (rank + 1) / ranks;
  }
  __device__ __forceinline__ int firstTile() const { return begin + team; }
  /** Of a pass: strips are shared by twos, as they are multiplied. */
  __device__ __forceinline__ int firstStrip(int count) const { return (count + 1) / 2 * warp / warps * 2; }
  __device__ __forceinline__ int strips(int count) const {
    return min(count, (count + 1) / 2 * (warp + 1) / warps * 2) - firstStrip(count);
  }
  __device__ __forceinline__ void meetTeam() const {
    if (warps == 1) __syncwarp();
    else ptx::meet(1 + team, warps * 32);
  }
};

/** This thread's part of the copies of a stage. Weights and x apart: weights do not wait for the kernel before. */
template <typename Shape, typename Share>
class FewCodesFeed {
 public:
  __device__ __forceinline__ FewCodesFeed(const FewCodesArguments& a, const Share& share, const FewCodesPlace& place)
      : a_(a), share_(share), place_(place), unit_(place.firstTile() < place.last ? share.first : share.end) {
    enter();
  }

  /** False after the last stage: then nothing is copied. */
  __device__ __forceinline__ bool hasNext() const { return count_ > 0; }

  /** The codes, scales and zeros of the next stage, to the memory of this warp at `to`. */
  __device__ __forceinline__ void copyWeights(uint32_t to) const {
    uint32_t codesTo = to + threadIdx.x % 32 * 16;
    if (isEven_) {
      copyPieces<2>(codesTo, codes_);
      if (strips_ > 2) copyPieces<2>(codesTo + 2 * stripBytes(Shape::kBits), codes_ + second_);
    } else {
      copyStrips(codesTo);
    }
    if (!scales_) return;
    int group = min((tile_ * kTileColumns >> a_.groupShift) + scaleGroup_, a_.groups - 1);
    ptx::copyAsync(to + scalesTo_, scales_ + static_cast<int64_t>(group) * (ofZeros() ? kTileRows : 2 * kTileRows));
  }

  /** Rows of x, to the team's memory at `to`, with zeros behind the last column. */
  __device__ __forceinline__ void copyX(uint32_t to) const {
    const char* from = xLeft_ > 0 ? x_ : static_cast<const char*>(a_.x.data);
    int bytes = min(max(xLeft_, 0), 16);
    to += xTo_;
#pragma unroll 1
    for (int row = 0; row < xRows_; ++row, from += xStep_) {
      ptx::copyAsync(to, from, bytes);
      to = (to + place_.warps * 512) ^ xFlip_;
    }
  }

  __device__ __forceinline__ void advance() {
    tile_ += place_.teams;
    codes_ += place_.teams * tileBytes(Shape::kBits);
    x_ += place_.teams * kTileColumns * 2;
    xLeft_ -= place_.teams * kTileColumns * 2;
    if (tile_ < place_.last) return;
    unit_ += count_;
    enter();
  }

 private:
  static __device__ __forceinline__ bool ofZeros() { return threadIdx.x % 32 >= 16; }

  /** Of strips that follow each other. */
  template <int kStrips>
  static __device__ __forceinline__ void copyPieces(uint32_t to, const uint8_t* from) {
    constexpr int kPieces = kStrips * stripBytes(Shape::kBits) / 16;
#pragma unroll
    for (int piece = 0; piece < kPieces; piece += 32) {
      if (kPieces - piece >= 32 || static_cast<int>(threadIdx.x) % 32 < kPieces - piece) {
        ptx::copyAsync(to + piece * 16, from + piece * 16);
      }
    }
  }

  /** Strips that are odd in number, or begin so. */
  __device__ __forceinline__ void copyStrips(uint32_t to) const {
    const uint8_t* from = codes_;
#pragma unroll 1
    for (int i = 0; i < strips_; ++i, to += stripBytes(Shape::kBits), from += stripBytes(Shape::kBits)) {
      if (i == turn_) from += static_cast<int64_t>(a_.tiles - 1) * tileBytes(Shape::kBits);
      copyPieces<1>(to, from);
    }
  }

  /** Lanes 0 … 15 bring 16 bytes of scales each, those of two groups at most, the other ones zeros. */
  __device__ __forceinline__ void enter() {
    const FewCodesPass pass = share_.pass(unit_);
    tile_ = place_.firstTile();
    count_ = pass.count;
    int strip = pass.strip + place_.firstStrip(count_), lane = threadIdx.x % 32;
    strips_ = place_.strips(count_);
    turn_ = kTileStrips - strip % kTileStrips;
    isEven_ = strips_ % 2 == 0 && turn_ % 2 == 0 && strips_ > 0;
    second_ = 2 * stripBytes(Shape::kBits);
    if (turn_ == 2) second_ += static_cast<int64_t>(a_.tiles - 1) * tileBytes(Shape::kBits);
    codes_ = a_.codes + (static_cast<int64_t>(strip / kTileStrips) * a_.tiles + tile_) * tileBytes(Shape::kBits) +
             strip % kTileStrips * stripBytes(Shape::kBits) + lane * 16;
    enterX(pass);
    enterScales(strip);
  }

  /** A lane brings 16 bytes of every so many rows, swizzled: of every fourth alone, its place there changes. */
  __device__ __forceinline__ void enterX(const FewCodesPass& pass) {
    int lane = threadIdx.x % 32, row = place_.warp * 4 + lane / 8, step = place_.warps * 4, piece = lane % 8;
    xRows_ = (pass.rows - row + step - 1) / step;
    xLeft_ = (static_cast<int>(a_.x.columns) - tile_ * kTileColumns - piece * kChunk) * 2;
    xTo_ = row * 128 + ((piece ^ (row & 7)) << 4);
    xFlip_ = step == 4 ? 64 : 0;
    xStep_ = step * static_cast<int>(a_.x.stride) * 2;
    x_ = static_cast<const char*>(a_.x.data) + (pass.row + row) * a_.x.stride * 2;
    x_ += tile_ * kTileColumns * 2 + piece * 16;
  }

  __device__ __forceinline__ void enterScales(int strip) {
    int lane = threadIdx.x % 32, within = ofZeros() ? lane % 4 : lane % 8 / 2;
    scaleGroup_ = ofZeros() ? lane % 16 / 4 : lane / 8;
    int64_t at = static_cast<int64_t>((strip + within) / kTileStrips) * a_.groups * kTileRows +
                 (strip + within) % kTileStrips * kStripRows;
    int groups = a_.groupShift < 6 ? 2 : 1;
    bool isWanted = scaleGroup_ < groups && within < strips_;
    if (ofZeros()) {
      scales_ = isWanted && a_.zeros ? a_.zeros + at : nullptr;
      scalesTo_ = Shape::kWarpCodes + groups * kTileRows * 2 + scaleGroup_ * kTileRows + within * kStripRows;
    } else {
      scales_ = isWanted ? a_.scales + at * 2 + lane % 2 * 16 : nullptr;
      scalesTo_ = Shape::kWarpCodes + scaleGroup_ * kTileRows * 2 + within * kStripRows * 2 + lane % 2 * 16;
    }
  }

  const FewCodesArguments& a_;
  const Share& share_;
  const FewCodesPlace& place_;
  int unit_, tile_, count_, strips_, turn_, scalesTo_, scaleGroup_, xRows_, xLeft_, xTo_, xFlip_, xStep_;
  int64_t second_;  // bytes from the first two strips to the next
  bool isEven_;
  const uint8_t *codes_, *scales_;
  const char* x_;
};

/** Until at most all stages but two are still under way. */
__device__ __forceinline__ void waitForStage(int stages) {
  if (stages == 3) ptx::waitCopies<1>();
  else if (stages == 4) ptx::waitCopies<2>();
  else if (stages > 4) ptx::waitCopies<3>();
  else ptx::waitCopies<0>();
}

}  // namespace octavo::cuda
