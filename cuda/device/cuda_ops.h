// The table of CUDA kernels: picks the kernel for a shape and launches it. No op but tuneLinear synchronises or
// allocates, so every other one may be captured in a graph. What is kept is the plans of dense products.
#pragma once

#include <memory>

#include "cuda/device/device_traits.h"
#include "ops/ops.h"

namespace octavo::cuda {

class CudaOps final : public Ops {
 public:
  CudaOps(int device, const DeviceTraits& traits);
  ~CudaOps() override;

  void convert(void* out, DType outType, const void* from, DType fromType, int64_t count, Stream& stream) override;
  void fillRandom(const RandomFill& fill, Stream& stream) override;
  void embedding(const Matrix& out, const int32_t* tokens, const Matrix& table, Stream& stream) override;
  void gatherRows(const Matrix& out, const Matrix& from, const int32_t* rows, Stream& stream) override;
  void widenRows(int32_t* out, int32_t outStride, const int32_t* from, const int32_t* stride, int32_t rows,
                 Stream& stream) override;
  void fetchImage(void* to, const ImageTurns& from, Stream& stream) override;
  void storeImage(const ImageTurns& to, const void* from, size_t bytes, Stream& stream) override;
  void rmsNorm(const Matrix& out, const Matrix& x, const Vector& weight, float epsilon, Stream& stream) override;
  void addRmsNorm(const Matrix& out, const Matrix& residual, const Matrix& x, const Vector& weight, float epsilon,
                  Stream& stream) override;
  void add(const Matrix& y, const Matrix& x, Stream& stream) override;
  void headNorm(const Heads& heads, const Vector& weight, float epsilon, Stream& stream) override;
  void linear(const Matrix& out, const Matrix& x, const Matrix& weight, const Vector& bias, Stream& stream) override;
  void linear(const Matrix& out, const Matrix& x, const QuantizedMatrix& weight, const Vector& bias,
              const LinearScratch& scratch, Stream& stream) override;
  std::vector<LinearTile> linearTiles(int64_t rows, int64_t columns, int64_t depth) const override;
  LinearTuning tuneLinear(const LinearTrial& trial, Stream& stream) override;
  bool keepTuned(const TunedLinear& tuned) override;
  void checkTuned() const override;
  void fusedLinear(const FusedLinear& fused, const Matrix& weight, const Vector& bias, Stream& stream) override;
  void fusedLinear(const FusedLinear& fused, const QuantizedMatrix& weight, const Vector& bias,
                   const LinearScratch& scratch, Stream& stream) override;
  bool canFuse(const FusedLinear& fused, const Matrix& weight) const override;
  bool canFuse(const FusedLinear& fused, const QuantizedMatrix& weight) const override;
  void groupedLinear(const Matrix& out, const Matrix& x, const QuantizedMatrix& weight, const ExpertRows& experts,
                     const LinearScratch& scratch, Stream& stream) override;
  void dequantize(const Matrix& out, const QuantizedMatrix& weight, Stream& stream) override;
  void repack(const Repack& repack, Stream& stream) override;
  void arrange(QuantizedMatrix& weight, const LinearScratch& scratch, Stream& stream) override;
  void rope(const Heads& query, const Heads& key, const int32_t* positions, const float* inverseFrequencies,
            float magnitude, Stream& stream) override;
  void kvWrite(const KvCacheView& cache, int32_t layer, const Heads& key, const Heads& value, const int64_t* slots,
               const KvScales& scales, Stream& stream) override;
  void ropeKvWrite(const KvCacheView& cache, int32_t layer, const RopeWrite& step, Stream& stream) override;
  void copyBlocks(const BlockCopies& copies, Stream& stream) override;
  void pagedAttention(const Heads& out, const Heads& query, const KvCacheView& cache, int32_t layer,
                      const AttentionBatch& batch, float scale, const AttentionVariant& variant,
                      const AttentionScratch& scratch, Stream& stream) override;
  void ropeAttention(const Heads& out, const RopeWrite& step, const KvCacheView& cache, int32_t layer,
                     const AttentionBatch& batch, float scale, const AttentionVariant& variant,
                     const AttentionScratch& scratch, Stream& stream) override;
  void latentWrite(const LatentCacheView& cache, int32_t layer, const Matrix& rows, const int64_t* slots,
                   Stream& stream) override;
  void latentRead(const Matrix& out, const LatentCacheView& cache, int32_t layer, const int64_t* slots,
                  Stream& stream) override;
  void latentAttention(const Heads& out, const Heads& query, const LatentCacheView& cache, int32_t layer,
                       const AttentionBatch& batch, float scale, const AttentionScratch& scratch,
                       Stream& stream) override;
  void expandedAttention(const Heads& out, const Heads& query, const ExpandedKeys& keys, const AttentionBatch& batch,
                         float scale, Stream& stream) override;
  void swiglu(const Matrix& out, const Matrix& gateUp, Stream& stream) override;
  void sample(const SampleArguments& arguments, Stream& stream) override;
  void resolveTokens(int32_t* tokens, int64_t count, const int32_t* sampled, Stream& stream) override;
  void resolveHistory(TokenCount* history, const SamplingParams* params, int32_t rows, const int32_t* sampled,
                      Stream& stream) override;

 private:
  void use() const;

  int device_;
  std::unique_ptr<LinearTable> plans_;
  DeviceTraits traits_;
};

}  // namespace octavo::cuda
