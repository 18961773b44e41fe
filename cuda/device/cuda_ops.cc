#include "cuda/device/cuda_ops.h"

#include <algorithm>
#include <limits>

#include "cuda/attention/attention.h"
#include "cuda/attention/mla.h"
#include "cuda/device/cuda_check.h"
#include "cuda/device/cuda_stream.h"
#include "cuda/elementwise/elementwise.h"
#include "cuda/fused/fused.h"
#include "cuda/gemm/linear.h"
#include "cuda/gemm/linear_table.h"
#include "cuda/gemm/linear_tuner.h"
#include "cuda/quantized/quantized.h"
#include "cuda/sampling/sampling.h"

namespace octavo::cuda {

namespace {

/** Whether the table can have it: tensor cores multiply it in tiles of 64 rows or more, and its sizes are ints. */
bool isPlanned(int64_t rows, int64_t columns, int64_t depth) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  return rows >= kLeastTunedRows && columns >= 1 && depth >= 8 && depth % 8 == 0 &&
         std::max({rows, columns, depth}) <= kMost;
}

}  // namespace

CudaOps::CudaOps(int device, const DeviceTraits& traits)
    : device_(device), plans_(std::make_unique<LinearTable>()), traits_(traits) {
  traits_.plans = plans_.get();
}

CudaOps::~CudaOps() = default;

// CUDA's current device is a property of the calling thread, and any thread may call.
void CudaOps::use() const { check(cudaSetDevice(device_), "cudaSetDevice"); }

void CudaOps::convert(void* out, DType outType, const void* from, DType fromType, int64_t count, Stream& stream) {
  use();
  launchConvert(out, outType, from, fromType, count, handleOf(stream));
}

void CudaOps::fillRandom(const RandomFill& fill, Stream& stream) {
  use();
  launchRandomFill(fill, handleOf(stream));
}

void CudaOps::embedding(const Matrix& out, const int32_t* tokens, const Matrix& table, Stream& stream) {
  use();
  launchGather(out, table, tokens, handleOf(stream));
}

void CudaOps::gatherRows(const Matrix& out, const Matrix& from, const int32_t* rows, Stream& stream) {
  use();
  launchGather(out, from, rows, handleOf(stream));
}

void CudaOps::widenRows(int32_t* out, int32_t outStride, const int32_t* from, const int32_t* stride, int32_t rows,
                        Stream& stream) {
  use();
  launchWidenRows(out, outStride, from, stride, rows, handleOf(stream));
}

void CudaOps::fetchImage(void* to, const ImageTurns& from, Stream& stream) {
  use();
  launchFetchImage(to, from, handleOf(stream));
}

void CudaOps::storeImage(const ImageTurns& to, const void* from, size_t bytes, Stream& stream) {
  use();
  launchStoreImage(to, from, bytes, handleOf(stream));
}

void CudaOps::rmsNorm(const Matrix& out, const Matrix& x, const Vector& weight, float epsilon, Stream& stream) {
  use();
  launchRmsNorm(out, {}, x, weight, epsilon, handleOf(stream));
}

void CudaOps::addRmsNorm(const Matrix& out, const Matrix& residual, const Matrix& x, const Vector& weight,
                         float epsilon, Stream& stream) {
  use();
  launchRmsNorm(out, residual, x, weight, epsilon, handleOf(stream));
}

void CudaOps::add(const Matrix& y, const Matrix& x, Stream& stream) {
  use();
  launchAdd(y, x, handleOf(stream));
}

void CudaOps::headNorm(const Heads& heads, const Vector& weight, float epsilon, Stream& stream) {
  use();
  launchHeadNorm(heads, weight, epsilon, handleOf(stream));
}

void CudaOps::linear(const Matrix& out, const Matrix& x, const Matrix& weight, const Vector& bias, Stream& stream) {
  use();
  launchLinear(out, x, weight, bias, traits_, handleOf(stream));
}

void CudaOps::linear(const Matrix& out, const Matrix& x, const QuantizedMatrix& weight, const Vector& bias,
                     const LinearScratch& scratch, Stream& stream) {
  use();
  launchQuantizedLinear(out, x, weight, bias, scratch, traits_, handleOf(stream));
}

std::vector<LinearTile> CudaOps::linearTiles(int64_t rows, int64_t columns, int64_t depth) const {
  if (!isPlanned(rows, columns, depth)) return {};
  const LinearShape shape{rows, columns, depth};
  std::vector<LinearTile> tiles{planFor(shape, traits_)};
  for (const LinearTile& tile : linearPlans(shape, traits_)) {
    if (tile != tiles.front()) tiles.push_back(tile);
  }
  return tiles;
}

LinearTuning CudaOps::tuneLinear(const LinearTrial& trial, Stream& stream) {
  use();
  LinearTuning tuning = cuda::tuneLinear(trial, traits_, handleOf(stream));
  if (tuning.hasChoice && tuning.isFinished) keepTuned(tuning.tuned);
  return tuning;
}

bool CudaOps::keepTuned(const TunedLinear& tuned) {
  return isPlanned(tuned.rows, tuned.columns, tuned.depth) &&
         plans_->keep({tuned.rows, tuned.columns, tuned.depth}, tuned.tile, traits_);
}

void CudaOps::checkTuned() const { plans_->check(traits_); }

void CudaOps::fusedLinear(const FusedLinear& fused, const Matrix& weight, const Vector& bias, Stream& stream) {
  if (!canFuse(fused, weight)) return Ops::fusedLinear(fused, weight, bias, stream);
  use();
  launchRowProduct(fused, weight, bias, traits_, handleOf(stream));
}

void CudaOps::fusedLinear(const FusedLinear& fused, const QuantizedMatrix& weight, const Vector& bias,
                          const LinearScratch& scratch, Stream& stream) {
  if (!canFuse(fused, weight)) return Ops::fusedLinear(fused, weight, bias, scratch, stream);
  use();
  launchRowProduct(fused, weight, bias, traits_, handleOf(stream));
}

bool CudaOps::canFuse(const FusedLinear& fused, const Matrix& weight) const {
  return canMultiplyRows(fused, weight, traits_);
}

bool CudaOps::canFuse(const FusedLinear& fused, const QuantizedMatrix& weight) const {
  return canMultiplyRows(fused, weight, traits_);
}

void CudaOps::groupedLinear(const Matrix& out, const Matrix& x, const QuantizedMatrix& weight,
                            const ExpertRows& experts, const LinearScratch& scratch, Stream& stream) {
  use();
  launchGroupedLinear(out, x, weight, experts, scratch, traits_, handleOf(stream));
}

void CudaOps::dequantize(const Matrix& out, const QuantizedMatrix& weight, Stream& stream) {
  use();
  launchDequantize(out, weight, 0, handleOf(stream));
}

void CudaOps::repack(const Repack& repack, Stream& stream) {
  use();
  launchRepack(repack, handleOf(stream));
}

void CudaOps::arrange(QuantizedMatrix& weight, const LinearScratch& scratch, Stream& stream) {
  use();
  if (launchArrange(weight, scratch, handleOf(stream))) weight.order = CodeOrder::kTiles;
}

void CudaOps::rope(const Heads& query, const Heads& key, const int32_t* positions, const float* inverseFrequencies,
                   float magnitude, Stream& stream) {
  use();
  launchRope(query, key, positions, inverseFrequencies, magnitude, handleOf(stream));
}

void CudaOps::kvWrite(const KvCacheView& cache, int32_t layer, const Heads& key, const Heads& value,
                      const int64_t* slots, const KvScales& scales, Stream& stream) {
  use();
  launchKvWrite(cache, layer, key, value, slots, scales, handleOf(stream));
}

void CudaOps::ropeKvWrite(const KvCacheView& cache, int32_t layer, const RopeWrite& step, Stream& stream) {
  use();
  if (canRopeWrite(cache, step)) launchRopeWrite(cache, layer, step, traits_, handleOf(stream));
  else launchRopeKvWrite(cache, layer, step, handleOf(stream));
}

void CudaOps::copyBlocks(const BlockCopies& copies, Stream& stream) {
  use();
  launchCopyBlocks(copies, handleOf(stream));
}

void CudaOps::pagedAttention(const Heads& out, const Heads& query, const KvCacheView& cache, int32_t layer,
                             const AttentionBatch& batch, float scale, const AttentionVariant& variant,
                             const AttentionScratch& scratch, Stream& stream) {
  use();
  launchPagedAttention({out, query, cache, layer, batch, scale, variant, scratch}, traits_, handleOf(stream));
}

void CudaOps::ropeAttention(const Heads& out, const RopeWrite& step, const KvCacheView& cache, int32_t layer,
                            const AttentionBatch& batch, float scale, const AttentionVariant& variant,
                            const AttentionScratch& scratch, Stream& stream) {
  use();
  const PagedAttention attention{out, step.query, cache, layer, batch, scale, variant, scratch};
  if (canAttendRows(attention, step, traits_)) return launchAttendRows(attention, step, handleOf(stream));
  Ops::ropeAttention(out, step, cache, layer, batch, scale, variant, scratch, stream);
}

void CudaOps::latentWrite(const LatentCacheView& cache, int32_t layer, const Matrix& rows, const int64_t* slots,
                          Stream& stream) {
  use();
  launchLatentWrite(cache, layer, rows, slots, handleOf(stream));
}

void CudaOps::latentRead(const Matrix& out, const LatentCacheView& cache, int32_t layer, const int64_t* slots,
                         Stream& stream) {
  use();
  launchLatentRead(out, cache, layer, slots, handleOf(stream));
}

void CudaOps::latentAttention(const Heads& out, const Heads& query, const LatentCacheView& cache, int32_t layer,
                              const AttentionBatch& batch, float scale, const AttentionScratch& scratch,
                              Stream& stream) {
  use();
  launchLatentAttention({out, query, cache, layer, batch, scale, scratch, {}}, traits_, handleOf(stream));
}

void CudaOps::expandedAttention(const Heads& out, const Heads& query, const ExpandedKeys& keys,
                                const AttentionBatch& batch, float scale, Stream& stream) {
  use();
  launchExpandedAttention({out, query, keys, batch, scale}, traits_, handleOf(stream));
}

void CudaOps::swiglu(const Matrix& out, const Matrix& gateUp, Stream& stream) {
  use();
  launchSwiglu(out, gateUp, handleOf(stream));
}

void CudaOps::sample(const SampleArguments& arguments, Stream& stream) {
  use();
  launchSample(arguments, handleOf(stream));
}

void CudaOps::resolveTokens(int32_t* tokens, int64_t count, const int32_t* sampled, Stream& stream) {
  use();
  launchResolveTokens(tokens, count, sampled, handleOf(stream));
}

void CudaOps::resolveHistory(TokenCount* history, const SamplingParams* params, int32_t rows, const int32_t* sampled,
                             Stream& stream) {
  use();
  launchResolveHistory(history, params, rows, sampled, handleOf(stream));
}

}  // namespace octavo::cuda
