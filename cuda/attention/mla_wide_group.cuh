// The two warpgroups of the latent decode kernel for many heads. Both have all 64 rows: warpgroup 0 the left 256
// columns of the output and the scores of even tiles, warpgroup 1 the right 256 and the scores of odd tiles. They hand
// each other their weights in the last slab of the tile, whose keys have been used by then.
#pragma once

#include "cuda/attention/mla_wide_state.cuh"
#include "cuda/ptx/named_barriers.cuh"
#include "cuda/ptx/wgmma_registers.cuh"

namespace octavo::cuda::mla::wide {

/** Hardware barriers. The first three are arrived at by one warpgroup and waited for by the other. */
enum Meeting { kEvenScored = 1, kEvenReady, kOddReady, kBothGroups, kOwnGroup };

constexpr float kRise = 8;  // weights stay below 2^kRise

template <DType kType, int kGroup>
class Group {
 public:
  __device__ __forceinline__ Group(const Arguments& a, const Place& place, const Line& line)
      : a_(a), place_(place), line_(line), thread_(threadIdx.x % 128), lane_(threadIdx.x % 32),
        slice_(kGroup * 4 + thread_ / 32), row_(thread_ / 32 * 16 + lane_ / 4) {}

  /** `firstSlot`: of this block. */
  __device__ __forceinline__ void run(Segment<Shape> segment, int lineEnd, int firstSlot) {
    for (; !segment.isEmpty(); advance(a_, segment, lineEnd)) {
      if (segment.exists()) {
        ptx::waitBarrier(place_.queryFull(), queryParity_);
        queryParity_ ^= 1;
        add(segment, firstSlot);
      } else if (a_.sharers > 1) {
        pass(segment);
      }
    }
  }

 private:
  static constexpr int kWindow = kGroup == 0 ? 12 : 16;  // the left group holds weights besides

  __device__ __forceinline__ float4* at(int slot) const { return sliceAt<Shape>(a_, slot, slice_); }

  /** Where one worker has all chunks before the segment's and is done with them: their fold. */
  __device__ __forceinline__ const float4* takeBefore(const Segment<Shape>& segment) const {
    const Pieces<Shape> pieces(line_, segment);
    if (pieces.chunks * segment.chunk != segment.begin || !hasBegun(a_, segment, slice_)) return nullptr;
    return at(pieces.slot(a_, 0));
  }

  /** The other block's barrier besides, where tiles are shared. By a whole warp. */
  __device__ __forceinline__ void release(Part part) const {
    const uint32_t barrier = place_.empty(part);
    if (lane_ == 0) ptx::arrive(barrier);
    else if (lane_ < a_.sharers) ptx::arriveRemoteUnordered(ptx::addressIn(barrier, ptx::clusterRank() ^ 1));
  }
  __device__ __forceinline__ void releaseQuery() const {
    if (lane_ == 0) ptx::arrive(place_.queryEmpty());
  }
  __device__ __forceinline__ void awaitPart(Part part) {
    ptx::waitBarrier(place_.full(part), parities_ >> part & 1);
    parities_ ^= 1u << part;
  }

  /** The same address, of which the compiler cannot make descriptors before the loop: they would fill the registers. */
  static __device__ __forceinline__ uint32_t hidden(uint32_t address) {
    ptx::keep(address);
    return address;
  }

  /** scores += Q · Kᵀ over slabs [kFirst, kEnd), under way. */
  template <int kFirst, int kEnd>
  __device__ __forceinline__ void startScores(float (&scores)[32]) const {
    const uint32_t from = hidden(place_.query);
    ptx::fenceProducts();
#pragma unroll
    for (int step = kFirst * 4; step < kEnd * 4; ++step) {
      uint32_t slab = step / 4 * kSlabBytes;
      uint64_t left = ptx::tileDescriptor(from + slab) + 2 * (step % 4);
      uint64_t right = ptx::tileDescriptor(from + Place::kTilesAt + kGroup * kTileBytes + slab) + 2 * (step % 4);
      ptx::multiplyTiles<kType>(scores, left, right, true);
    }
    ptx::commitProducts();
  }

  /** out += weights · V of this group's columns of the even (0) or odd (1) tile, under way. */
  __device__ __forceinline__ void startValues(State& state, const uint32_t (&weights)[16], int odd) {
    const uint32_t from = hidden(place_.slab(odd, kGroup * kHalfSlabs));
    ptx::fenceProducts();
#pragma unroll
    for (int step = 0; step < 4; ++step) {
      uint64_t right = ptx::transposedDescriptor(from + step * 16 * kRowBytes, kSlabBytes);
      ptx::multiplyRegisters<kType>(state.out, weights + 4 * step, right, true);
    }
    ptx::commitProducts();
  }

  __device__ __forceinline__ void finish(State& state) const {
    ptx::waitProducts<0>();
    ptx::pinRegisters(state.out);
  }
  __device__ __forceinline__ void finishScores(float (&scores)[32], bool isLast) const {
    ptx::waitProducts<0>();
    ptx::pinRegisters(scores);
    if (isLast) releaseQuery();
  }
  /** The same, done; `filled`: keys of the tile that there are. */
  __device__ __forceinline__ void addValues(State& state, const uint32_t (&weights)[16], int odd, int filled) {
    clearValues(odd, filled);
    startValues(state, weights, odd);
    finish(state);
  }

  /** −inf where a row does not see a key; `low`, `high`: the keys of the tile that the lane's rows see. */
  __device__ __forceinline__ void mask(float (&scores)[32], int low, int high) const {
    int column = lane_ % 4 * 2;
#pragma unroll
    for (int i = 0; i < 32; ++i) {
      if (column + (i >> 2) * 8 + (i & 1) >= (i & 2 ? high : low)) scores[i] = -INFINITY;
    }
  }

  /**
   * What is to be the maximum of each of the lane's rows: the one so far, unless a score is above it by so much that
   * weights would grow. After a chunk's first tiles it seldom moves, and what was summed need not be scaled.
   */
  __device__ __forceinline__ void raise(float (&most)[2], const State& state, const float (&scores)[32]) const {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float top = -INFINITY;
#pragma unroll
      for (int i = 0; i < 32; i += 4) top = fmaxf(top, fmaxf(scores[i + 2 * r], scores[i + 2 * r + 1]));
      top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));
      top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 2));
      const float before = state.scales.maximum[r];
      most[r] = (top - before) * a_.scaleLog2 > kRise ? top : before;
    }
  }

  /** The maximum becomes `most`; returns by what all that was summed must be scaled. */
  __device__ __forceinline__ void moveTo(State& state, const float (&most)[2], float (&factors)[2]) const {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float before = state.scales.maximum[r];
      factors[r] = before == most[r] ? 1.0f : ptx::exp2Approximate(before * a_.scaleLog2 - baseOf(most[r]));
      state.scales.maximum[r] = most[r];
      state.scales.sum[r] *= factors[r];
    }
  }
  /** In log2; 0 where no key was seen, for then every weight is 0. */
  __device__ __forceinline__ float baseOf(float maximum) const {
    return maximum == -INFINITY ? 0.0f : maximum * a_.scaleLog2;
  }

  /** Scores to weights in place, and their sums. */
  __device__ __forceinline__ void weigh(State& state, float (&scores)[32]) const {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float base = baseOf(state.scales.maximum[r]), sum = 0;
#pragma unroll
      for (int i = 0; i < 32; i += 4) {
#pragma unroll
        for (int j = 2 * r; j < 2 * r + 2; ++j) {
          scores[i + j] = ptx::exp2Approximate(fmaf(scores[i + j], a_.scaleLog2, -base));
          sum += scores[i + j];
        }
      }
      state.scales.sum[r] += sum;
    }
  }

  __device__ __forceinline__ void pack(uint32_t (&weights)[16], const float (&scores)[32]) const {
#pragma unroll
    for (int i = 0; i < 16; ++i) weights[i] = packPair<kType>(scores[2 * i], scores[2 * i + 1]);
  }

  /** Where 16 of the 64 keys' weights of the lane's row lie for matrices of 8 × 8. */
  __device__ __forceinline__ uint32_t weightsAt(int odd, int step) const {
    int row = thread_ / 32 * 16 + (lane_ & 15);
    return place_.slab(odd, kRopeSlab) + row * kRowBytes + (((step * 2 + (lane_ >> 4)) ^ (row & 7)) << 4);
  }
  __device__ __forceinline__ void putWeights(const uint32_t (&weights)[16], int odd) const {
#pragma unroll
    for (int step = 0; step < 4; ++step) {
      ptx::storeMatrices(weightsAt(odd, step), weights[4 * step], weights[4 * step + 1], weights[4 * step + 2],
                         weights[4 * step + 3]);
    }
  }
  __device__ __forceinline__ void putScores(const float (&scores)[32], int odd) const {
    uint32_t weights[16];
    pack(weights, scores);
    putWeights(weights, odd);
  }
  __device__ __forceinline__ void getWeights(uint32_t (&weights)[16], int odd) const {
#pragma unroll
    for (int step = 0; step < 4; ++step) {
      uint32_t four[4];
      ptx::loadMatrices(four, weightsAt(odd, step));
#pragma unroll
      for (int i = 0; i < 4; ++i) weights[4 * step + i] = four[i];
    }
  }

  __device__ __forceinline__ void putMaxima(const float (&most)[2], int odd) const {
    if (lane_ % 4 != 0) return;
    place_.maxima(odd)[row_] = most[0];
    place_.maxima(odd)[row_ + 8] = most[1];
  }
  __device__ __forceinline__ void getMaxima(float (&most)[2], int odd) const {
    most[0] = place_.maxima(odd)[row_];
    most[1] = place_.maxima(odd)[row_ + 8];
  }

  /** Values past the last key may be NaN in the cache; 0 · NaN would spoil a row. By the group, of its columns. */
  __device__ __forceinline__ void clearValues(int odd, int filled) const {
    if (filled >= Shape::kTileKeys) return;
    int chunks = (Shape::kTileKeys - filled) * (kRowBytes / 16);
#pragma unroll 1
    for (int slab = 0; slab < kHalfSlabs; ++slab) {
      uint32_t from = place_.slab(odd, kGroup * kHalfSlabs + slab) + filled * kRowBytes;
#pragma unroll 1
      for (int i = thread_; i < chunks; i += 128) ptx::storeZeros(from + i * 16);
    }
    ptx::fenceForCopies();
    ptx::meet(kOwnGroup + kGroup, 128);
  }

  /**
   * Adds the keys of a segment chunk by chunk. What a chunk has come to is put away by warpgroup 1 while the other one
   * scores the next chunk's first tile, and by warpgroup 0 once it has its weights.
   */
  __device__ __forceinline__ void add(const Segment<Shape>& segment, int firstSlot) {
    const bool ends = segment.end == segment.sequence.tiles;
    const float4* before = segment.begin > 0 && ends ? takeBefore(segment) : nullptr;
    const bool folds = segment.begin == 0 || before != nullptr;
    // The fold of its chunks stays in a block's first slot where others wait for it, else in the second.
    int slot = firstSlot + (folds && ends ? 1 : 0);
    const int low = Row(a_, segment, row_).keys, high = Row(a_, segment, row_ + 8).keys;
    State part;
    part.clear();
    int chunkEnd = segment.begin + segment.chunk;
#pragma unroll 1
    for (int tile = segment.begin; tile < segment.end; tile += 2) {
      const int passed = tile * Shape::kTileKeys;
      const Pair pair{tile + 1 < segment.end, tile + 2 >= segment.end, segment.sequence.context - passed, low - passed,
                      high - passed};
      const bool isNew = tile == chunkEnd;
      Scales done;
      if (isNew) {
        closeSums(part);
        done = part.scales;
        part.scales = Scales();
        chunkEnd += segment.chunk;
      }
      float factors[2];
      uint32_t weights[16];
      if constexpr (kGroup == 0) weighEven(part, factors, weights, pair);
      if (isNew) {
        part.fold<kWindow>(done, before);
        if (!folds) ++slot;
        else before = at(slot);
        part.store(done, at(slot));
        part.clearValues();
      } else if constexpr (kGroup == 0) {
        part.scale(factors);
      }
      if constexpr (kGroup == 0) addLeft(part, factors, weights, pair);
      else addOdd(part, pair);
    }
    closeSums(part);
    part.fold<kWindow>(part.scales, before);
    if (folds && ends) write(part, segment);
    else part.store(part.scales, at(folds ? slot : slot + 1));
    if (folds) publish(a_, segment, slice_, ends ? kIsWritten : kHasBegun);
  }

  /**
   * Takes and frees the tiles of a segment that only the neighbour works on. A group frees its part A when it has seen
   * the part B besides, which the other one frees: the next B comes after that A, and does not pass a warp that still
   * waits for this one.
   */
  __device__ __forceinline__ void pass(const Segment<Shape>& segment) {
    for (int tile = segment.begin; tile < segment.end; tile += 2) {
      const bool isWhole = tile + 1 < segment.end;
      if constexpr (kGroup == 0) awaitPart(kEvenA);
      awaitPart(kEvenB);
      __syncwarp();
      release(kGroup == 0 ? kEvenA : kEvenB);
      if (!isWhole) continue;
      if constexpr (kGroup == 1) awaitPart(kOddA);
      awaitPart(kOddB);
      __syncwarp();
      release(kGroup == 0 ? kOddB : kOddA);
    }
  }

  /** Two tiles; keys that there are, and that the lane's rows see, counted from the even tile's first. */
  struct Pair {
    bool isWhole, isLast;
    int filled, low, high;
  };

  /** Warpgroup 0: scores of the even tile and its weights; by what all before is to be scaled. */
  __device__ __forceinline__ void weighEven(State& state, float (&factors)[2], uint32_t (&weights)[16],
                                            const Pair& pair) {
    float scores[32] = {}, most[2];
    awaitPart(kEvenA);
    startScores<0, kHalfSlabs>(scores);
    awaitPart(kEvenB);
    startScores<kHalfSlabs, kSlabs>(scores);
    finishScores(scores, pair.isLast);
    if (pair.isWhole) ptx::announce(kEvenScored, 256);
    if (min(pair.low, pair.high) < Shape::kTileKeys) mask(scores, pair.low, pair.high);
    raise(most, state, scores);
    putMaxima(most, 0);
    moveTo(state, most, factors);
    weigh(state, scores);
    pack(weights, scores);
    putWeights(weights, 0);
    ptx::announce(kEvenReady, 256);
  }

  /** The left columns of both tiles. */
  __device__ __forceinline__ void addLeft(State& state, float (&factors)[2], uint32_t (&weights)[16],
                                          const Pair& pair) {
    addValues(state, weights, 0, pair.filled);
    release(kEvenA);
    if (!pair.isWhole) return;
    float most[2];
    ptx::meet(kOddReady, 256);
    getMaxima(most, 1);
    moveTo(state, most, factors);
    state.scale(factors);
    awaitPart(kOddB);
    getWeights(weights, 1);
    addValues(state, weights, 1, pair.filled - Shape::kTileKeys);
    ptx::fenceForCopies();  // the slab of the weights is filled by a copy again
    release(kOddB);
  }

  /** Warpgroup 1: scores of the odd tile, weighed while the even one's right columns are added; then its own. */
  __device__ __forceinline__ void addOdd(State& state, const Pair& pair) {
    float scores[32] = {}, most[2], factors[2];
    uint32_t weights[16];
    if (pair.isWhole) {
      ptx::meet(kEvenScored, 256);  // one after the other: so one group weighs while the other multiplies
      awaitPart(kOddA);
      startScores<kHalfSlabs, 2 * kHalfSlabs>(scores);
      awaitPart(kOddB);
      startScores<0, kHalfSlabs>(scores);
      startScores<kRopeSlab, kSlabs>(scores);
      finishScores(scores, pair.isLast);
    } else if (pair.isLast) {
      releaseQuery();
    }
    ptx::meet(kEvenReady, 256);
    getMaxima(most, 0);
    moveTo(state, most, factors);
    state.scale(factors);
    awaitPart(kEvenB);
    getWeights(weights, 0);
    clearValues(0, pair.filled);
    startValues(state, weights, 0);
    if (pair.isWhole) {
      const int low = pair.low - Shape::kTileKeys, high = pair.high - Shape::kTileKeys;
      if (min(low, high) < Shape::kTileKeys) mask(scores, low, high);
      raise(most, state, scores);
      putMaxima(most, 1);
      moveTo(state, most, factors);
      weigh(state, scores);
      putScores(scores, 1);
      ptx::announce(kOddReady, 256);
    }
    finish(state);
    ptx::fenceForCopies();
    release(kEvenB);
    if (!pair.isWhole) return;
    state.scale(factors);
    pack(weights, scores);
    addValues(state, weights, 1, pair.filled - Shape::kTileKeys);
    release(kOddA);
  }

  /** The sums of both groups' keys; the maximum in log2. */
  __device__ __forceinline__ void closeSums(State& state) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      state.scales.sum[r] += __shfl_xor_sync(0xffffffffu, state.scales.sum[r], 1);
      state.scales.sum[r] += __shfl_xor_sync(0xffffffffu, state.scales.sum[r], 2);
      if (lane_ % 4 == 0) place_.sums(lap_, kGroup)[row_ + 8 * r] = state.scales.sum[r];
    }
    ptx::meet(kBothGroups, 256);
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      state.scales.sum[r] = place_.sums(lap_, 0)[row_ + 8 * r] + place_.sums(lap_, 1)[row_ + 8 * r];
      if (state.scales.maximum[r] != -INFINITY) state.scales.maximum[r] *= a_.scaleLog2;
    }
    lap_ ^= 1;
  }

  __device__ __forceinline__ void write(const State& state, const Segment<Shape>& segment) const {
    writeRow(Row(a_, segment, row_), state, 0);
    writeRow(Row(a_, segment, row_ + 8), state, 1);
  }
  __device__ __forceinline__ void writeRow(const Row& row, const State& state, int r) const {
    if (!row.exists) return;
    const float scale = inverse(state.scales.sum[r]);
    uint16_t* const out = outAt<Shape>(a_, row, slice_);
#pragma unroll
    for (int i = 0; i < 32; ++i) {
      const float* const pair = state.out + 4 * i + 2 * r;
      *reinterpret_cast<uint32_t*>(out + i * 8) = packPair<kType>(pair[0] * scale, pair[1] * scale);
    }
  }

  const Arguments& a_;
  const Place& place_;
  const Line& line_;
  int thread_, lane_, slice_, row_;
  uint32_t queryParity_ = 0, parities_ = 0;
  int lap_ = 0;           // of the sums: one group may be a chunk ahead
};

}  // namespace octavo::cuda::mla::wide
