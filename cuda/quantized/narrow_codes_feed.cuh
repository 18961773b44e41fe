// The copies that fill the ring of narrow_codes.cuh, of one warp.
#pragma once

#include "cuda/ptx/tma.cuh"
#include "cuda/quantized/narrow_codes_share.cuh"

namespace octavo::cuda {

/** The copies of a share's stages, one after the other. Of the weights and of x apart: weights wait for no kernel. */
template <typename Shape>
class NarrowCodesFeed {
 public:
  __device__ __forceinline__ NarrowCodesFeed(const NarrowCodesArguments& a, const NarrowCodesShare<Shape>& share,
                                             const NarrowCodesShared<Shape>& shared)
      : a_(a), share_(share), shared_(shared), policy_(ptx::evictFirstPolicy()), unit_(share.first),
        stage_(share.begin) {
    if (hasNext()) pass_ = share.pass(unit_);
  }

  __device__ __forceinline__ bool hasNext() const { return unit_ < share_.units && share_.begin < share_.end; }
  __device__ __forceinline__ void awaitSlot() const {
    ptx::waitBarrier(shared_.empty + slot_.index * 8, slot_.parity ^ 1);
  }

  /** Announces all bytes of the stage; a lane a row of tiles copies its codes, scales and zeros. */
  __device__ __forceinline__ void copyWeights() const {
    constexpr int kTile = tileBytes(Shape::kBits);
    int lane = threadIdx.x % 32, rows = pass_.tileRows, tile = stage_ * a_.depth;
    int codeBytes = min(a_.depth, a_.tiles - tile) * kTile, xBytes = a_.depth * Shape::kTokenBytes;
    int group = tile * kTileColumns >> a_.groupShift;
    int last = min(((tile + a_.depth) * kTileColumns - 1) >> a_.groupShift, a_.groups - 1);
    int scaleBytes = (last + 1 - group) * kTileRows * 2, zeroBytes = a_.zeros ? scaleBytes / 2 : 0;
    uint32_t full = shared_.full + slot_.index * 8, to = shared_.ring + slot_.index * a_.stageBytes;
    if (lane == 0) ptx::arriveExpecting(full, xBytes + rows * (codeBytes + scaleBytes + zeroBytes));
    __syncwarp();
    if (lane >= rows) return;
    int64_t row = pass_.tileRow + lane, at = (row * a_.groups + group) * kTileRows;
    ptx::loadBytes(to + xBytes + lane * a_.depth * kTile, a_.codes + (row * a_.tiles + tile) * kTile, codeBytes, full,
                   policy_);
    int slots = lane * a_.groupSlots * kTileRows;
    ptx::loadBytes(to + a_.scalesAt + slots * 2, a_.scales + at * 2, scaleBytes, full, policy_);
    if (zeroBytes > 0) ptx::loadBytes(to + a_.zerosAt + slots, a_.zeros + at, zeroBytes, full, policy_);
  }
  __device__ __forceinline__ void copyX() const {
    uint32_t full = shared_.full + slot_.index * 8, to = shared_.ring + slot_.index * a_.stageBytes;
    if (threadIdx.x % 32 == 0) ptx::loadTile(to, &a_.xMap, full, 0, pass_.row, stage_ * a_.depth, 0);
  }
  __device__ __forceinline__ void advance() {
    slot_.advance(a_.ringStages);
    if (++stage_ < share_.end) return;
    stage_ = share_.begin;
    unit_ += share_.step;
    if (hasNext()) pass_ = share_.pass(unit_);
  }

 private:
  const NarrowCodesArguments& a_;
  const NarrowCodesShare<Shape>& share_;
  const NarrowCodesShared<Shape>& shared_;
  uint64_t policy_;
  int unit_, stage_;
  NarrowCodesPass pass_{};
  NarrowCodesSlot slot_;
};

template <typename Shape>
__device__ __forceinline__ void produceNarrow(const NarrowCodesArguments& a, const NarrowCodesShare<Shape>& share,
                                              const NarrowCodesShared<Shape>& shared) {
  NarrowCodesFeed<Shape> feed(a, share, shared), weights = feed;
  int ahead = 0;
  for (; ahead < a.ringStages && weights.hasNext(); ++ahead, weights.advance()) weights.copyWeights();
  ptx::waitForPredecessors();
  for (; feed.hasNext(); feed.advance(), --ahead) {
    if (ahead <= 0) {
      feed.awaitSlot();
      feed.copyWeights();
    }
    feed.copyX();
  }
}

}  // namespace octavo::cuda
