// The two warpgroups of the latent decode kernel for many heads. Both have all 64 rows: warpgroup 0 the left 256
// columns of the output and the scores of even tiles, warpgroup 1 the right 256 and the scores of odd tiles. They hand
// each other their weights in the last slab of the tile, whose keys have been used by then.
#pragma once

#include "cuda/attention/mla_wide_state.cuh"
#include "cuda/ptx/wgmma_registers.cuh"

namespace octavo::cuda::mla::wide {

/** Hardware barriers. The first two are arrived at by one warpgroup and waited for by the other. */
enum Meeting { kEvenReady = 1, kOddReady, kBothGroups, kOwnGroup };

__device__ __forceinline__ void meet(Meeting meeting, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(static_cast<int>(meeting)), "r"(threads) : "memory");
}
__device__ __forceinline__ void announce(Meeting meeting) {
  asm volatile("bar.arrive %0, 256;" ::"r"(static_cast<int>(meeting)) : "memory");
}

template <DType kType, int kGroup>
class Group {
 public:
  __device__ __forceinline__ Group(const Arguments& a, const Place& place, const Line& line)
      : a_(a), place_(place), line_(line), thread_(threadIdx.x % 128), lane_(threadIdx.x % 32),
        row_(thread_ / 32 * 16 + lane_ / 4) {}

  __device__ __forceinline__ void run(Segment<Shape> segment, int lineEnd, int worker) {
    for (; !segment.isEmpty(); advance(a_, segment, lineEnd)) {
      ptx::waitBarrier(place_.queryFull(), queryParity_);
      queryParity_ ^= 1;
      const bool ends = segment.end == segment.sequence.tiles;
      const bool folds = segment.begin == 0 || (ends && hasArrived(segment));
      if (folds && segment.begin > 0) combine(segment, segment.begin / segment.chunk, worker);
      // The fold of a worker's chunks stays in its first slot where others wait for it, else in the second.
      const int slot = worker * a_.slots + (ends ? 1 : 0);
      int own = worker * a_.slots;
#pragma unroll 1
      for (int first = segment.begin; first < segment.end; first += segment.chunk) {
        State part;
        int end = min(first + segment.chunk, segment.end);
        addChunk(part, segment, first, end);
        if (folds && first > 0) part.foldOnto(at(slot));
        if (!folds) part.store(at(++own));
        else if (end == segment.sequence.tiles) write(part, segment);
        else part.store(at(slot));
      }
      if (folds && ends) {
        if (segment.begin > 0 && isFirstThread()) *arrivalsOf(segment) = 0;
        continue;
      }
      if (!arriveLast(segment)) continue;
      combine(segment, segment.chunks(), worker);
      writeFrom(at(worker * a_.slots + 1), segment);
    }
  }

 private:
  __device__ __forceinline__ float4* at(int slot) const {
    return a_.partials + (static_cast<int64_t>(slot) * 2 + kGroup) * (State::kVectors * 128) + thread_;
  }
  __device__ __forceinline__ void release(uint32_t barrier) const {
    if (lane_ == 0) ptx::arrive(barrier);
  }
  __device__ __forceinline__ void awaitPart(Part part) {
    ptx::waitBarrier(place_.full(part), parities_ >> part & 1);
    parities_ ^= 1u << part;
  }

  /** The same address, of which the compiler cannot make descriptors before the loop: they would fill the registers. */
  static __device__ __forceinline__ uint32_t hidden(uint32_t address) {
    asm volatile("" : "+r"(address));
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
    if (isLast) release(place_.queryEmpty());
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

  /** The larger of the maximum so far and the scores, of each of the lane's rows. */
  __device__ __forceinline__ void raise(float (&most)[2], const State& state, const float (&scores)[32]) const {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      most[r] = state.maximum[r];
#pragma unroll
      for (int i = 0; i < 32; i += 4) most[r] = fmaxf(most[r], fmaxf(scores[i + 2 * r], scores[i + 2 * r + 1]));
      most[r] = fmaxf(most[r], __shfl_xor_sync(0xffffffffu, most[r], 1));
      most[r] = fmaxf(most[r], __shfl_xor_sync(0xffffffffu, most[r], 2));
    }
  }

  /** The maximum becomes `most`; returns by what all that was summed must be scaled. */
  __device__ __forceinline__ void moveTo(State& state, const float (&most)[2], float (&factors)[2]) const {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      factors[r] = exp2Approximate(state.maximum[r] * a_.scaleLog2 - baseOf(most[r]));
      state.maximum[r] = most[r];
      state.sum[r] *= factors[r];
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
      float base = baseOf(state.maximum[r]), sum = 0;
#pragma unroll
      for (int i = 0; i < 32; i += 4) {
#pragma unroll
        for (int j = 2 * r; j < 2 * r + 2; ++j) {
          scores[i + j] = exp2Approximate(fmaf(scores[i + j], a_.scaleLog2, -base));
          sum += scores[i + j];
        }
      }
      state.sum[r] += sum;
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
    ptx::fenceForCopies();  // the slab is filled by a copy again
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
    for (int slab = 0; slab < kHalfSlabs; ++slab) {
      uint32_t from = place_.slab(odd, kGroup * kHalfSlabs + slab) + filled * kRowBytes;
      for (int i = thread_; i < chunks; i += 128) ptx::storeZeros(from + i * 16);
    }
    ptx::fenceForCopies();
    meet(static_cast<Meeting>(kOwnGroup + kGroup), 128);
  }

  __device__ __forceinline__ void addChunk(State& part, const Segment<Shape>& segment, int first, int end) {
    const int low = Row(a_, segment, row_).keys, high = Row(a_, segment, row_ + 8).keys;
    part.clear();
    for (int tile = first; tile < end; tile += 2) {
      const int before = tile * Shape::kTileKeys;
      const Pair pair{tile + 1 < end, segment.sequence.context - before, low - before, high - before};
      if constexpr (kGroup == 0) addEven(part, pair, tile + 2 >= segment.end);
      else addOdd(part, pair, tile + 2 >= segment.end);
    }
    closeSums(part);
  }

  /** Two tiles; keys that there are, and that the lane's rows see, counted from the even tile's first. */
  struct Pair {
    bool isWhole;
    int filled, low, high;
  };

  /** Warpgroup 0: scores of the even tile; the left columns of both. */
  __device__ __forceinline__ void addEven(State& state, const Pair& pair, bool isLast) {
    float most[2], factors[2];
    uint32_t weights[16];
    {
      float scores[32] = {};
      awaitPart(kEvenA);
      startScores<0, kHalfSlabs>(scores);
      awaitPart(kEvenB);
      startScores<kHalfSlabs, kSlabs>(scores);
      finishScores(scores, isLast);
      if (min(pair.low, pair.high) < Shape::kTileKeys) mask(scores, pair.low, pair.high);
      raise(most, state, scores);
      putMaxima(most, 0);
      moveTo(state, most, factors);
      weigh(state, scores);
      pack(weights, scores);
    }
    putWeights(weights, 0);
    announce(kEvenReady);
    state.scale(factors);
    addValues(state, weights, 0, pair.filled);
    release(place_.empty(kEvenA));
    if (!pair.isWhole) return;
    meet(kOddReady, 256);
    getMaxima(most, 1);
    moveTo(state, most, factors);
    state.scale(factors);
    awaitPart(kOddB);
    getWeights(weights, 1);
    addValues(state, weights, 1, pair.filled - Shape::kTileKeys);
    release(place_.empty(kOddB));
  }

  /** Warpgroup 1: scores of the odd tile, weighed while the even one's right columns are added; then its own. */
  __device__ __forceinline__ void addOdd(State& state, const Pair& pair, bool isLast) {
    float scores[32] = {}, most[2], factors[2];
    uint32_t weights[16];
    if (pair.isWhole) {
      awaitPart(kOddA);
      startScores<kHalfSlabs, 2 * kHalfSlabs>(scores);
      awaitPart(kOddB);
      startScores<0, kHalfSlabs>(scores);
      startScores<kRopeSlab, kSlabs>(scores);
      finishScores(scores, isLast);
    } else if (isLast) {
      release(place_.queryEmpty());
    }
    meet(kEvenReady, 256);
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
      announce(kOddReady);
    }
    finish(state);
    release(place_.empty(kEvenB));
    if (!pair.isWhole) return;
    state.scale(factors);
    pack(weights, scores);
    addValues(state, weights, 1, pair.filled - Shape::kTileKeys);
    release(place_.empty(kOddA));
  }

  /** The sums of both groups' keys; the maximum in log2. */
  __device__ __forceinline__ void closeSums(State& state) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      state.sum[r] += __shfl_xor_sync(0xffffffffu, state.sum[r], 1);
      state.sum[r] += __shfl_xor_sync(0xffffffffu, state.sum[r], 2);
      if (lane_ % 4 == 0) place_.sums(lap_, kGroup)[row_ + 8 * r] = state.sum[r];
    }
    meet(kBothGroups, 256);
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      state.sum[r] = place_.sums(lap_, 0)[row_ + 8 * r] + place_.sums(lap_, 1)[row_ + 8 * r];
      if (state.maximum[r] != -INFINITY) state.maximum[r] *= a_.scaleLog2;
    }
    lap_ ^= 1;
  }

  __device__ __forceinline__ bool isFirstThread() const { return kGroup == 0 && thread_ == 0; }
  __device__ __forceinline__ int* arrivalsOf(const Segment<Shape>& segment) const {
    return a_.arrivals + static_cast<int64_t>(segment.index) * a_.rowTiles + segment.item;
  }

  /** Whether all chunks before the segment's are there. The same answer for both groups. */
  __device__ __forceinline__ bool hasArrived(const Segment<Shape>& segment) const {
    meet(kBothGroups, 256);
    if (isFirstThread()) place_.arrived() = *static_cast<volatile int*>(arrivalsOf(segment));
    meet(kBothGroups, 256);
    bool all = place_.arrived() == segment.begin / segment.chunk;
    __threadfence();
    return all;
  }

  /** Counts the chunks of the worker in; true for the one that completes the item. */
  __device__ __forceinline__ bool arriveLast(const Segment<Shape>& segment) const {
    int owned = (segment.end - segment.begin + segment.chunk - 1) / segment.chunk;
    __threadfence();
    meet(kBothGroups, 256);
    if (isFirstThread()) {
      int arrived = atomicAdd(arrivalsOf(segment), owned) + owned;
      if (arrived == segment.chunks()) *arrivalsOf(segment) = 0;
      place_.arrived() = arrived;
    }
    meet(kBothGroups, 256);
    bool last = place_.arrived() == segment.chunks();
    __threadfence();
    return last;
  }

  /** The fold of the item's first `chunks` chunks, in their order, to the worker's second slot. */
  __device__ __forceinline__ void combine(const Segment<Shape>& segment, int chunks, int worker) const {
    const Pieces<Shape> pieces(line_, segment);
    const int count = pieces.count(chunks);
    float4* const to = at(worker * a_.slots + 1);
    State::Scales scales(at(pieces.slot(0, a_.slots)));
#pragma unroll 1
    for (int part = 1; part < State::kVectors; part += 8) {
      // Eight vectors at a time: a piece after the other, so that loads of the next do not wait for these.
      float4 total[8];
      State::Scales before = scales;
      const float4* from = at(pieces.slot(0, a_.slots));
#pragma unroll
      for (int i = 0; i < 8; ++i) total[i] = __ldcg(from + (part + i) * 128);
#pragma unroll 2
      for (int piece = 1; piece < count; ++piece) {
        from = at(pieces.slot(piece, a_.slots));
        float left[2], right[2];
        before.fold(State::Scales(from), left, right);
#pragma unroll
        for (int i = 0; i < 8; ++i) {
          const float4 v = __ldcg(from + (part + i) * 128);
          total[i].x = fmaf(v.x, right[0], total[i].x * left[0]);
          total[i].y = fmaf(v.y, right[0], total[i].y * left[0]);
          total[i].z = fmaf(v.z, right[1], total[i].z * left[1]);
          total[i].w = fmaf(v.w, right[1], total[i].w * left[1]);
        }
      }
      __syncwarp();
#pragma unroll
      for (int i = 0; i < 8; ++i) to[(part + i) * 128] = total[i];
      if (part + 8 >= State::kVectors) to[0] = before.head();
    }
  }

  /** Of a row, from this lane's first column on. */
  __device__ __forceinline__ uint16_t* outputOf(const Row& row) const {
    return static_cast<uint16_t*>(a_.out.data) + row.token * a_.out.tokenStride + row.head * kRank +
           kGroup * (kRank / 2) + lane_ % 4 * 2;
  }
  static __device__ __forceinline__ float inverse(float sum) { return sum > 0 ? 1.0f / sum : 0.0f; }

  __device__ __forceinline__ void write(const State& state, const Segment<Shape>& segment) const {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const Row row(a_, segment, row_ + 8 * r);
      if (!row.exists) continue;
      uint16_t* const to = outputOf(row);
      float scale = inverse(state.sum[r]);
#pragma unroll
      for (int i = 0; i < 32; ++i) {
        *reinterpret_cast<uint32_t*>(to + i * 8) =
            packPair<kType>(state.out[i * 4 + 2 * r] * scale, state.out[i * 4 + 2 * r + 1] * scale);
      }
    }
  }

  /** The same of a slot that this thread has written. */
  __device__ __forceinline__ void writeFrom(const float4* at, const Segment<Shape>& segment) const {
    const Row low(a_, segment, row_), high(a_, segment, row_ + 8);
    uint16_t *const lowTo = outputOf(low), *const highTo = outputOf(high);
    const float lowScale = inverse(at[0].z), highScale = inverse(at[0].w);
#pragma unroll 4
    for (int i = 0; i < 32; ++i) {
      const float4 v = at[(i + 1) * 128];
      uint32_t lowPair = packPair<kType>(v.x * lowScale, v.y * lowScale);
      uint32_t highPair = packPair<kType>(v.z * highScale, v.w * highScale);
      if (low.exists) *reinterpret_cast<uint32_t*>(lowTo + i * 8) = lowPair;
      if (high.exists) *reinterpret_cast<uint32_t*>(highTo + i * 8) = highPair;
    }
  }

  const Arguments& a_;
  const Place& place_;
  const Line& line_;
  int thread_, lane_, row_;
  uint32_t queryParity_ = 0, parities_ = 0;
  int lap_ = 0;           // of the sums: one group may be a chunk ahead
};

}  // namespace octavo::cuda::mla::wide
