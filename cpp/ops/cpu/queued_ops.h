// The CPU kernels in the order of a stream: done in the call, or by the stream's thread.
#pragma once

#include <utility>
#include <vector>

#include "device/cpu_stream.h"
#include "ops/cpu/cpu_ops.h"

namespace octavo {

/** Arguments are taken by value, as a launch on a GPU takes them: all they point to is device memory. */
class QueuedOps final : public Ops {
 public:
  explicit QueuedOps(ThreadPool& pool) : direct_(pool) {}

  void convert(void* out, DType outType, const void* from, DType fromType, int64_t count, Stream& stream) override {
    run(stream, [=, this, &stream] { direct_.convert(out, outType, from, fromType, count, stream); });
  }
  void embedding(const Matrix& out, const int32_t* tokens, const Matrix& table, Stream& stream) override {
    run(stream, [=, this, &stream] { direct_.embedding(out, tokens, table, stream); });
  }
  void gatherRows(const Matrix& out, const Matrix& from, const int32_t* rows, Stream& stream) override {
    run(stream, [=, this, &stream] { direct_.gatherRows(out, from, rows, stream); });
  }
  void widenRows(int32_t* out, int32_t outStride, const int32_t* from, const int32_t* stride, int32_t rows,
                 Stream& stream) override {
    run(stream, [=, this, &stream] { direct_.widenRows(out, outStride, from, stride, rows, stream); });
  }
  void fetchImage(void* to, const ImageTurns& from, Stream& stream) override {
    run(stream, [=, this, &stream] { direct_.fetchImage(to, from, stream); });
  }
  void storeImage(const ImageTurns& to, const void* from, size_t bytes, Stream& stream) override {
    run(stream, [=, this, &stream] { direct_.storeImage(to, from, bytes, stream); });
  }
  void rmsNorm(const Matrix& out, const Matrix& x, const Vector& weight, float epsilon, Stream& stream) override {
    run(stream, [=, this, &stream] { direct_.rmsNorm(out, x, weight, epsilon, stream); });
  }
  void addRmsNorm(const Matrix& out, const Matrix& residual, const Matrix& x, const Vector& weight, float epsilon,
                  Stream& stream) override {
    run(stream, [=, this, &stream] { direct_.addRmsNorm(out, residual, x, weight, epsilon, stream); });
  }
  void add(const Matrix& y, const Matrix& x, Stream& stream) override {
    run(stream, [=, this, &stream] { direct_.add(y, x, stream); });
  }
  void headNorm(const Heads& heads, const Vector& weight, float epsilon, Stream& stream) override {
    run(stream, [=, this, &stream] { direct_.headNorm(heads, weight, epsilon, stream); });
  }
  void linear(const Matrix& out, const Matrix& x, const Matrix& weight, const Vector& bias, Stream& stream) override {
    run(stream, [=, this, &stream] { direct_.linear(out, x, weight, bias, stream); });
  }
  void linear(const Matrix& out, const Matrix& x, const QuantizedMatrix& weight, const Vector& bias,
              const LinearScratch& scratch, Stream& stream) override {
    run(stream, [=, this, &stream] { direct_.linear(out, x, weight, bias, scratch, stream); });
  }
  void groupedLinear(const Matrix& out, const Matrix& x, const QuantizedMatrix& weight, const ExpertRows& experts,
                     const LinearScratch& scratch, Stream& stream) override {
    run(stream, [=, this, &stream] { direct_.groupedLinear(out, x, weight, experts, scratch, stream); });
  }
  void dequantize(const Matrix& out, const QuantizedMatrix& weight, Stream& stream) override {
    run(stream, [=, this, &stream] { direct_.dequantize(out, weight, stream); });
  }
  void repack(const Repack& repack, Stream& stream) override {
    run(stream, [=, this, &stream] { direct_.repack(repack, stream); });
  }
  void arrange(QuantizedMatrix& weight, const LinearScratch& scratch, Stream& stream) override {
    direct_.arrange(weight, scratch, stream);  // does nothing
  }
  void rope(const Heads& query, const Heads& key, const int32_t* positions, const float* inverseFrequencies,
            float magnitude, Stream& stream) override {
    run(stream, [=, this, &stream] { direct_.rope(query, key, positions, inverseFrequencies, magnitude, stream); });
  }
  void kvWrite(const KvCacheView& cache, int32_t layer, const Heads& key, const Heads& value, const int64_t* slots,
               const KvScales& scales, Stream& stream) override {
    run(stream, [=, this, &stream] { direct_.kvWrite(cache, layer, key, value, slots, scales, stream); });
  }
  void ropeKvWrite(const KvCacheView& cache, int32_t layer, const RopeWrite& step, Stream& stream) override {
    run(stream, [=, this, &stream] { direct_.ropeKvWrite(cache, layer, step, stream); });
  }
  void copyBlocks(const BlockCopies& copies, Stream& stream) override {
    const std::vector<BlockCopy> list(copies.copies, copies.copies + copies.count);  // host memory, the caller's
    run(stream, [=, this, &stream] {
      BlockCopies own = copies;
      own.copies = list.data();
      direct_.copyBlocks(own, stream);
    });
  }
  void pagedAttention(const Heads& out, const Heads& query, const KvCacheView& cache, int32_t layer,
                      const AttentionBatch& batch, float scale, const AttentionVariant& variant,
                      const AttentionScratch& scratch, Stream& stream) override {
    run(stream, [=, this, &stream] {
      direct_.pagedAttention(out, query, cache, layer, batch, scale, variant, scratch, stream);
    });
  }
  void latentWrite(const LatentCacheView& cache, int32_t layer, const Matrix& rows, const int64_t* slots,
                   Stream& stream) override {
    run(stream, [=, this, &stream] { direct_.latentWrite(cache, layer, rows, slots, stream); });
  }
  void latentRead(const Matrix& out, const LatentCacheView& cache, int32_t layer, const int64_t* slots,
                  Stream& stream) override {
    run(stream, [=, this, &stream] { direct_.latentRead(out, cache, layer, slots, stream); });
  }
  void latentAttention(const Heads& out, const Heads& query, const LatentCacheView& cache, int32_t layer,
                       const AttentionBatch& batch, float scale, const AttentionScratch& scratch,
                       Stream& stream) override {
    run(stream, [=, this, &stream] {
      direct_.latentAttention(out, query, cache, layer, batch, scale, scratch, stream);
    });
  }
  void expandedAttention(const Heads& out, const Heads& query, const ExpandedKeys& keys,
                         const AttentionBatch& batch, float scale, Stream& stream) override {
    run(stream, [=, this, &stream] { direct_.expandedAttention(out, query, keys, batch, scale, stream); });
  }
  void swiglu(const Matrix& out, const Matrix& gateUp, Stream& stream) override {
    run(stream, [=, this, &stream] { direct_.swiglu(out, gateUp, stream); });
  }
  void fillRandom(const RandomFill& fill, Stream& stream) override {
    run(stream, [=, this, &stream] { direct_.fillRandom(fill, stream); });
  }
  void sample(const SampleArguments& arguments, Stream& stream) override {
    run(stream, [=, this, &stream] { direct_.sample(arguments, stream); });
  }
  void resolveTokens(int32_t* tokens, int64_t count, const int32_t* sampled, Stream& stream) override {
    run(stream, [=, this, &stream] { direct_.resolveTokens(tokens, count, sampled, stream); });
  }
  void resolveHistory(TokenCount* history, const SamplingParams* params, int32_t rows, const int32_t* sampled,
                      Stream& stream) override {
    run(stream, [=, this, &stream] { direct_.resolveHistory(history, params, rows, sampled, stream); });
  }

 private:
  template <typename Call>
  void run(Stream& stream, Call&& call) {
    cpuStream(stream).run(std::forward<Call>(call));
  }

  CpuOps direct_;
};

}  // namespace octavo
