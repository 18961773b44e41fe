// The warp that deals: takes units, and hands them with their queries and first blocks to the others of its block.
#pragma once

#include "cuda/attention/split_query.cuh"
#include "cuda/attention/split_ring.cuh"

namespace octavo::cuda::split {

template <typename Shape, int kDim, int kTiles, bool kFew>
class Dealer {
 public:
  __device__ __forceinline__ Dealer(const Arguments& a, uint8_t* shared)
      : a_(a), shared_(shared), barriers_(ptx::sharedAddress(shared)) {}

  /** `drawn`: the first ticket, of lane 0. */
  __device__ __forceinline__ void run(int drawn) {
    const Deal<kFew> deal(a_, reinterpret_cast<Stand*>(shared_ + Shape::kNearAt));
    const int blocks = static_cast<int>(gridDim.x);
    int number = static_cast<int>(blockIdx.x);
#pragma unroll 1
    do {
      if (number < deal.units()) publish(deal.unit(number));
      // A unit that lasts is taken late: so who is done first takes more.
      if (lasts_) waitDone(published_ - 2);
      drawn = __shfl_sync(0xffffffffu, drawn, 0);
      number = blocks + drawn;
      restart(drawn, deal.units());
      if (number < deal.units() && threadIdx.x % 32 == 0) drawn = atomicAdd(a_.ticket, 1);
    } while (number < deal.units());
    Unit none{};
    publish(none);
  }

 private:
  using Copy = std::conditional_t<Shape::kCoded, CodedQueryCopy<kDim, kTiles, kFew>, QueryCopy<kDim, kTiles, kFew>>;

  /** The last of all tickets starts the next launch's. */
  __device__ __forceinline__ void restart(int drawn, int units) const {
    if (drawn == max(units, static_cast<int>(gridDim.x)) - 1 && threadIdx.x % 32 == 0) *a_.ticket = 0;
  }

  __device__ __forceinline__ void publish(const Unit& unit) {
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int first = unit.firstChunk * unit.chunk;
    const int entries[2] = {blockOf(a_, unit, first + lane), blockOf(a_, unit, first + 32 + lane)};
    const Copy copy(a_, unit);
    Dealt& to = reinterpret_cast<Dealt*>(shared_ + Shape::kUnitsAt)[turn_.at];
    uint8_t* const query = shared_ + Shape::kQueryAt + turn_.at * Shape::kQueryBytes;
    ptx::waitBarrier(barriers_.unitFree(turn_.at), turn_.parity ^ 1);
    copy.store(reinterpret_cast<float4*>(query));
    if (lane == 0) to.unit = unit;
    to.entries[lane] = entries[0];
    to.entries[lane + 32] = entries[1];
    arriveAsWarp(barriers_.unitFull(turn_.at));
    turn_.advance();
    ++published_;
    lasts_ = unit.endChunk - unit.firstChunk > 1;
  }

  /** Until the block's unit of that number is done. */
  __device__ __forceinline__ void waitDone(int unit) const {
    if (unit >= 0) ptx::waitBarrier(barriers_.unitFree(unit % Shape::kUnits), unit / Shape::kUnits & 1);
  }

  const Arguments& a_;
  uint8_t* const shared_;
  const Barriers<Shape> barriers_;
  Turn<Shape::kUnits> turn_;
  int published_ = 0;
  bool lasts_ = false;  // the last one published
};

}  // namespace octavo::cuda::split
