// The CPU kernels: the definition every other device is tested against.
#pragma once

#include <memory>

#include "base/thread_pool.h"
#include "ops/ops.h"

namespace octavo {

/**
 * Every result is the same for any number of threads, and that of a row does not depend on the other rows of
 * the call. Work is done when a method returns. Scratch is a few MiB a thread, kept by the thread.
 */
class CpuOps final : public Ops {
 public:
  explicit CpuOps(ThreadPool& pool) : pool_(pool) {}

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
  void groupedLinear(const Matrix& out, const Matrix& x, const QuantizedMatrix& weight, const ExpertRows& experts,
                     const LinearScratch& scratch, Stream& stream) override;
  void dequantize(const Matrix& out, const QuantizedMatrix& weight, Stream& stream) override;
  void repack(const Repack& repack, Stream& stream) override;
  void arrange(QuantizedMatrix&, const LinearScratch&, Stream&) override {}  // rows are what the CPU reads
  void rope(const Heads& query, const Heads& key, const int32_t* positions, const float* inverseFrequencies,
            float magnitude, Stream& stream) override;
  void kvWrite(const KvCacheView& cache, int32_t layer, const Heads& key, const Heads& value, const int64_t* slots,
               const KvScales& scales, Stream& stream) override;
  void ropeKvWrite(const KvCacheView& cache, int32_t layer, const RopeWrite& step, Stream& stream) override;
  void copyBlocks(const BlockCopies& copies, Stream& stream) override;
  void pagedAttention(const Heads& out, const Heads& query, const KvCacheView& cache, int32_t layer,
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
  /** Runs `body(begin, end)` over rows; each range is worth waking a thread for. */
  template <typename Body>
  void forRows(int64_t rows, int64_t columns, const Body& body) {
    constexpr int64_t kElementsPerRange = 8192;
    pool_.parallelFor(rows, kElementsPerRange / (columns + 1) + 1, body);
  }

  ThreadPool& pool_;
};

/** Of a CPU device: on a concurrent stream they are done by its thread. */
std::unique_ptr<Ops> createCpuOps(ThreadPool& pool);

}  // namespace octavo
