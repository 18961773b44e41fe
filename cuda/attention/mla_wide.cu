// Decode attention over latents for many heads (sm_90a): 64 rows share a latent, and the tensor cores set the pace.
//
// The two warpgroups of a block hold half of the 64 × 512 outputs each (128 registers a thread). Of a pair of tiles
// each scores and weighs one, and hands its weights to the other; both add the values of both tiles to their halves, so
// that one multiplies while the other weighs. One thread brings tiles by the tensor memory accelerator, in halves that
// are freed early and asked for again in the order in which they are freed, from the L2: queries and two tiles fill
// shared memory, so what a tile waits for is not hidden. Blocks side by side have different rows of the same sequence
// and bring each other half of every tile, so that its latents leave memory and the L2 once.
//
// A pair of tiles are 36 × 2 products of 64 × 64 × 16 (32 clocks each) and 4 × 4 of 64 × 256 × 16 (128 clocks): 4352
// clocks, in which shared memory moves 288 KB for the first, 128 KB for the second and 144 KB of copies, at 128 bytes
// a clock 4480. A chunk that is put away moves 256 KB to and from the L2.
//
// Maxima follow lazily: what was summed is scaled only where a score rises far above them, which after a chunk's first
// tile it seldom does.
//
// Measured on an H200, bf16, 128 heads, 2026-12-01, median of replayed graphs, the launch of mla_combine.cuh included:
// 128 × 4096 352 µs, 415 TFLOP/s; one of 4096 28.9 µs. The version before, whose maxima followed at every tile and whose
// sequences were cut for two more workers than were of use, took 375 and 29.8; what each of the two cost was not measured
// apart. Scoring the next even tile right behind the odd one's values took 363 µs, and beginning workers some thousand
// clocks apart changed nothing; profiled in that form a pair took some 8900 clocks, and folding and putting away chunks,
// of 8 tiles, 17 % of the left warpgroup's time. 168 registers at launch, 232 in the warpgroups; 216 bytes are spilt.
#include <algorithm>

#include "cuda/attention/mla_wide_group.cuh"
#include "cuda/device/alignment.h"
#include "cuda/device/early_launch.h"
#include "cuda/device/shared_memory.h"
#include "cuda/device/tensor_map.h"
#include "cuda/ptx/cluster.cuh"

namespace octavo::cuda {
namespace mla::wide {
namespace {

constexpr float kLog2E = 1.4426950408889634f;

static_assert(kSlices * Shape::kVectors * 32 * 16 == Shape::kTileRows * (kRank + 16) * 4);

template <DType kType>
__global__ void __launch_bounds__(kThreads, 1)
    wideKernel(const __grid_constant__ Arguments a, const __grid_constant__ CUtensorMap queries,
               const __grid_constant__ CUtensorMap latents) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ uint8_t shared[];
  const Place place(shared);
  if (threadIdx.x == 0) {
    ptx::prefetchTensorMap(&queries);
    ptx::prefetchTensorMap(&latents);
    place.initialise(a.sharers);
  }
  ptx::waitForPredecessors();
  int before;
  const Line line = lineOf<Shape>(a, 0, before);
  const int worker = static_cast<int>(blockIdx.x) / a.abreast, neighbour = static_cast<int>(blockIdx.x) % a.abreast;
  if (worker >= min(line.workers, line.total)) return;
  int lineEnd = line.start(worker + 1);
  const Segment<Shape> segment = firstSegment<Shape>(a, neighbour, line.start(worker), lineEnd);
  ptx::syncCluster();  // the other block's barriers are there too
  ptx::letSuccessorsBegin();
  if (threadIdx.x < 128) {
    ptx::lowerRegisters<40>();
    if (threadIdx.x == 0) Feed(a, &queries, &latents, place).run(segment, lineEnd);
    __syncwarp();
  } else if (threadIdx.x < 256) {
    ptx::raiseRegisters<232>();
    Group<kType, 0>(a, place, line).run(segment, lineEnd, firstSlot(a, worker, neighbour));
  } else {
    ptx::raiseRegisters<232>();
    Group<kType, 1>(a, place, line).run(segment, lineEnd, firstSlot(a, worker, neighbour));
  }
  ptx::syncCluster();  // a block stays while the other one may still write and arrive in it
#endif
}

template <DType kType>
void launch(const Arguments& a, const CUtensorMap& queries, const CUtensorMap& latents, cudaStream_t stream) {
  constexpr auto kKernel = wideKernel<kType>;
  allowSharedMemory<wideKernel<kType>>(Place::kBytes);
  launchEarly(kKernel,
              {dim3(static_cast<unsigned>(a.workers * a.abreast)), dim3(kThreads), Place::kBytes, stream,
               static_cast<unsigned>(a.sharers)},
              "wideLatentDecode", a, queries, latents);
  launchCombine<kType, Shape>(a, stream);
}

}  // namespace
}  // namespace mla::wide

bool canDecodeLatentsWide(const LatentAttention& a) {
  const bool packed = a.query.tokenStride == int64_t{a.query.heads} * mla::wide::kWidth;
  return a.cache.blockSize == mla::wide::Shape::kTileKeys && packed && a.scale > 0 &&
         a.query.tokens * a.query.heads < int64_t{1} << 31;
}

void launchWideLatentDecode(const LatentAttention& attention, const LatentScratchLayout& layout,
                            const DeviceTraits& traits, cudaStream_t stream) {
  char* const scratch = static_cast<char*>(attention.scratch.data);
  const Heads& query = attention.query;
  const int blocks = std::min(traits.multiprocessors, LatentScratchLayout::kMultiprocessors);
  const int rows = query.heads * std::min(attention.batch.maxQueryLength, LatentScratchLayout::kMostQueries);
  const int abreast = blocks > 1 && rows > LatentScratchLayout::kWideRows ? 2 : 1;
  const mla::Arguments a{attention.out,
                         query,
                         attention.batch,
                         attention.scale * mla::wide::kLog2E,
                         0,
                         attention.layer,
                         attention.cache.layers,
                         true,
                         blocks / abreast,
                         abreast,
                         reinterpret_cast<int32_t*>(scratch),
                         layout.tiles,
                         reinterpret_cast<float4*>(scratch + layout.counterBytes),
                         layout.wideSlots,
                         static_cast<const char*>(attention.cache.data),
                         attention.forms.sharesTiles ? abreast : 1};
  const CUtensorMap queries = tensorMapOf(
      {query.data, query.dtype, query.tokens * query.heads, mla::wide::kWidth, mla::wide::kWidth}, 64);
  const CUtensorMap latents = latentMapOf(attention.cache, mla::wide::Shape::kTileKeys, 1);
  if (query.dtype == DType::kBF16) mla::wide::launch<DType::kBF16>(a, queries, latents, stream);
  else mla::wide::launch<DType::kF16>(a, queries, latents, stream);
}

}  // namespace octavo::cuda
