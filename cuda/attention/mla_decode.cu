// Decode attention over latents at the speed of memory (sm_90): few heads, so that 16 rows share a latent.
//
// A block is a worker (mla_schedule.cuh): one warp brings tiles of 32 latents by the tensor memory accelerator, four
// score them (mma.m16n8k16, the 16 rows its M side, a quarter of the 576 columns each), two make weights of the
// scores, eight add 64 columns of values each. They meet at barriers alone and work on different tiles at a time. A
// latent is read from memory once for 16 rows: it is key and value in place. Its tile comes by one copy of boxes, or by
// a copy a row (LatentForms), which reads memory from one end to the other.
//
// Measured on an H200, bf16, 16 heads, blocks of 64, shuffled, 2026-12-01, median of replayed graphs, the launch of
// mla_combine.cuh included, latents counted once: 64 × 4096 91.2 µs, 3.31 TB/s; 128 × 4096 159 µs, 3.80; one of 4096
// 18.3 µs. The version before, with as many workers as multiprocessors where fewer were done in the same time, and half
// the blocks in the second launch, took 97, 183 and 18.1: 162 in this kernel, for items were cut into up to three pieces.
// An earlier one with parts of 256, copies alone and nothing folded, took 80, 152 and 6.8. 128 registers, no spills.
#include <algorithm>

#include "cuda/attention/mla_decode_score.cuh"
#include "cuda/attention/mla_decode_value.cuh"
#include "cuda/device/early_launch.h"
#include "cuda/device/shared_memory.h"
#include "cuda/device/tensor_map.h"
#include "cuda/ptx/cluster.cuh"

namespace octavo::cuda {
namespace mla {
namespace {

constexpr float kLog2E = 1.4426950408889634f;

static_assert(kValueWarps == kSlices && kSlices * Shape::kVectors * 32 * 16 == kTileRows * (kRank + 64) * 4);

template <DType kType, typename Form>
__global__ void __launch_bounds__(kThreads, 1)
    decodeKernel(const __grid_constant__ Arguments a, const __grid_constant__ CUtensorMap map) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ uint8_t shared[];
  const Place place(shared);
  if (threadIdx.x == 0) {
    ptx::prefetchTensorMap(&map);
    place.initialise();
  }
  ptx::waitForPredecessors();
  int before;
  const Line line = lineOf<Shape>(a, 0, before);
  int worker = blockIdx.x, warp = threadIdx.x / 32;
  if (worker >= min(line.workers, line.total)) return;
  int lineEnd = line.start(worker + 1);
  const Segment<Shape> segment = firstSegment<Shape>(a, 0, line.start(worker), lineEnd);
  __syncthreads();
  ptx::letSuccessorsBegin();
  if (warp < kScoreWarps) Scorer<kType, Form>(a, place).run(segment, lineEnd);
  else if (warp < kFirstValueWarp) Weigher<kType>(a, place).run(segment, lineEnd);
  else if (warp < kFirstValueWarp + kValueWarps) Adder<kType, Form>(a, place, line).run(segment, lineEnd, worker);
  else Feed<Form>(a, &map, place).run(segment, lineEnd);
#endif
}

template <DType kType, typename Form>
void launchForm(const Arguments& a, const CUtensorMap& map, cudaStream_t stream) {
  allowSharedMemory<decodeKernel<kType, Form>>(Place::kBytes);
  launchEarly(decodeKernel<kType, Form>,
              {dim3(static_cast<unsigned>(a.workers)), dim3(kThreads), Place::kBytes, stream}, "latentDecode", a, map);
}

template <DType kType>
void launch(const Arguments& a, const CUtensorMap& map, bool copiesRows, cudaStream_t stream) {
  if (copiesRows) launchForm<kType, Rows>(a, map, stream);
  else launchForm<kType, Boxes>(a, map, stream);
  launchCombine<kType, Shape>(a, stream);
}

}  // namespace
}  // namespace mla

void launchLatentDecode(const LatentAttention& attention, const LatentScratchLayout& layout, bool hasWide,
                        const DeviceTraits& traits, cudaStream_t stream) {
  char* const scratch = static_cast<char*>(attention.scratch.data);
  const mla::Arguments a{attention.out,
                         attention.query,
                         attention.batch,
                         attention.scale * mla::kLog2E,
                         attention.cache.blockSize == 64 ? 1 : 0,
                         attention.layer,
                         attention.cache.layers,
                         hasWide,
                         std::min(traits.multiprocessors, LatentScratchLayout::kMultiprocessors),
                         1,
                         reinterpret_cast<int32_t*>(scratch),
                         layout.tiles,
                         reinterpret_cast<float4*>(scratch + layout.counterBytes),
                         layout.slots,
                         static_cast<const char*>(attention.cache.data),
                         1};
  const CUtensorMap map = latentMapOf(attention.cache, mla::kTileKeys, mla::kWidth / 64);
  if (attention.cache.dtype == DType::kBF16) mla::launch<DType::kBF16>(a, map, attention.forms.copiesRows, stream);
  else mla::launch<DType::kF16>(a, map, attention.forms.copiesRows, stream);
}

}  // namespace octavo::cuda
