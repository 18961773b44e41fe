// The table of kernels. The CPU implementation is the definition; every other is tested against it.
// Any float dtype (fp32, bf16, fp16) is accepted for every tensor of an op unless stated, in any mix of
// activation and weight; arithmetic and accumulation are fp32, the result is rounded once.
// All ops are deterministic and stream-ordered. Shapes are checked by the caller (model, binding).
#pragma once

#include "device/device.h"
#include "ops/attention_variant.h"
#include "ops/block_copies.h"
#include "ops/expert_rows.h"
#include "ops/fused_linear.h"
#include "ops/image_turns.h"
#include "ops/latent.h"
#include "ops/linear_scratch.h"
#include "ops/linear_trial.h"
#include "ops/quantized_matrix.h"
#include "ops/random_fill.h"
#include "ops/repack.h"
#include "ops/rope_write.h"
#include "ops/sampling.h"
#include "ops/tensor.h"

namespace octavo {

class Ops {
 public:
  virtual ~Ops() = default;

  /** out[i] = from[i], converted. Any pair of float dtypes. */
  virtual void convert(void* out, DType outType, const void* from, DType fromType, int64_t count,
                       Stream& stream) = 0;

  /** Fills memory at random: bit for bit the same on every device. */
  virtual void fillRandom(const RandomFill& fill, Stream& stream) = 0;

  /** out[t] = table[tokens[t]]. tokens: int32 [out.rows] in device memory. Ids outside the table give a row of zeros. */
  virtual void embedding(const Matrix& out, const int32_t* tokens, const Matrix& table, Stream& stream) = 0;

  /** out[r] = from[rows[r]]; rows: int32 [out.rows] in device memory. */
  virtual void gatherRows(const Matrix& out, const Matrix& from, const int32_t* rows, Stream& stream) = 0;

  /**
   * out[r · outStride + c] = from[r · stride + c], c < stride: rows of a table whose width is known to the device
   * alone, as a captured graph needs it. stride: one int32 in device memory, at most outStride; the rest of out stays.
   */
  virtual void widenRows(int32_t* out, int32_t outStride, const int32_t* from, const int32_t* stride, int32_t rows,
                         Stream& stream) = 0;

  /**
   * to = the image whose turn it is. Its first eight bytes, an int64, say how many it has: a multiple of 16, at most
   * the stride.
   */
  virtual void fetchImage(void* to, const ImageTurns& from, Stream& stream) = 0;

  /** The first `bytes` bytes, a multiple of 8, of the image whose turn it is = from; then it is the next one's turn. */
  virtual void storeImage(const ImageTurns& to, const void* from, size_t bytes, Stream& stream) = 0;

  /** out = x / sqrt(mean(x²) + epsilon) * weight, over columns. out may be x. */
  virtual void rmsNorm(const Matrix& out, const Matrix& x, const Vector& weight, float epsilon,
                       Stream& stream) = 0;

  /** residual += x, then out = rmsNorm(residual): the norm reads the rounded residual. out may be x. */
  virtual void addRmsNorm(const Matrix& out, const Matrix& residual, const Matrix& x, const Vector& weight,
                          float epsilon, Stream& stream) = 0;

  /** y += x, elementwise. */
  virtual void add(const Matrix& y, const Matrix& x, Stream& stream) = 0;

  /** RMSNorm over the dim of every head, in place: heads.dim == weight.size. */
  virtual void headNorm(const Heads& heads, const Vector& weight, float epsilon, Stream& stream) = 0;

  /**
   * out[m, n] = Σ_k x[m, k] · weight[n, k] + bias[n]. weight is [N, K] as checkpoints store it; bias may
   * be absent; any M, N, K ≥ 1; out.dtype may differ (fp32 logits).
   */
  virtual void linear(const Matrix& out, const Matrix& x, const Matrix& weight, const Vector& bias,
                      Stream& stream) = 0;

  /**
   * The same with a quantised weight: its numbers are those of `dequantize`, and x is quantised first where the weight
   * says so. Activations of 16 bits may round weight and quantised x to their dtype before they meet. Where x becomes
   * e4m3, up to 256 products may be summed in 14 bits, which errs by less than 2⁻¹⁰ of Σ |x · weight|.
   */
  virtual void linear(const Matrix& out, const Matrix& x, const QuantizedMatrix& weight, const Vector& bias,
                      const LinearScratch& scratch, Stream& stream) = 0;

  /**
   * The tiles into which a product of `rows` rows with a dense weight of [columns, depth] and x of 16 bits can be divided,
   * the one in use first; empty where there is no choice, as on the CPU.
   */
  virtual std::vector<LinearTile> linearTiles(int64_t rows, int64_t columns, int64_t depth) const;

  /**
   * Measures the tiles that are predicted to be near the fastest, and uses the one that was, for all products of the
   * shape whose rows fall in the same bucket of kTunedRows. The tile changes the bits of a result where it divides K
   * alone: that is never taken for up to 64 rows, nor for a gain of less than 8 %. Waits for the stream.
   */
  virtual LinearTuning tuneLinear(const LinearTrial& trial, Stream& stream);

  /** Uses what an earlier run measured. False: the shape cannot be divided so, and nothing has changed. */
  virtual bool keepTuned(const TunedLinear& tuned);

  /** Throws kInternal where what these keep does not agree; nothing may run meanwhile. */
  virtual void checkTuned() const {}

  /**
   * rmsNorm, linear, and add or swiglu, as ops/fused_linear.h has them; here as the ops one by one, whose bits are the
   * definition. Nothing may share memory but a place that is not used. Weight, bias and norm may be read before the ops
   * ahead on the stream have ended: no `fusedLinear`, `ropeKvWrite` or attention under way may write them.
   */
  virtual void fusedLinear(const FusedLinear& fused, const Matrix& weight, const Vector& bias, Stream& stream);
  virtual void fusedLinear(const FusedLinear& fused, const QuantizedMatrix& weight, const Vector& bias,
                           const LinearScratch& scratch, Stream& stream);

  /** True where `fusedLinear` of so few rows takes less time than the ops one by one, which add and norm at once. */
  virtual bool canFuse(const FusedLinear& fused, const Matrix& weight) const;
  virtual bool canFuse(const FusedLinear& fused, const QuantizedMatrix& weight) const;

  /**
   * `linear` for the rows of experts, each with a weight of its own: expert e has rows e · N … of `weight`, N of them,
   * N = out.columns, a multiple of weight.groupRows. Rows of no expert are left as they are. Scratch: that of a weight
   * of N rows.
   */
  virtual void groupedLinear(const Matrix& out, const Matrix& x, const QuantizedMatrix& weight,
                             const ExpertRows& experts, const LinearScratch& scratch, Stream& stream) = 0;

  /** out[n, k] = weight[n, k], rounded to out.dtype: bit for bit the same on every device. */
  virtual void dequantize(const Matrix& out, const QuantizedMatrix& weight, Stream& stream) = 0;

  /** Brings a piece of a stored tensor into the layout of a QuantizedMatrix. */
  virtual void repack(const Repack& repack, Stream& stream) = 0;

  /**
   * Brings a weight whose memory is complete, to whole tiles, into the order that this device multiplies fastest, where
   * it is; it says so in `weight.order`. Scratch: LinearScratchLayout::arrangeBytes; with less nothing is done.
   */
  virtual void arrange(QuantizedMatrix& weight, const LinearScratch& scratch, Stream& stream) = 0;

  /**
   * Rotates queries and keys in place, half-split pairs (i, i + dim/2):
   * angle = positions[t] · inverseFrequencies[i] in fp32; cos and sin are multiplied by `magnitude`.
   * positions: int32 [tokens], inverseFrequencies: fp32 [dim / 2], both in device memory.
   */
  virtual void rope(const Heads& query, const Heads& key, const int32_t* positions,
                    const float* inverseFrequencies, float magnitude, Stream& stream) = 0;

  /**
   * Stores keys and values of a step. slots: int64 [tokens], slot = block · blockSize + offset;
   * negative slots are skipped. A cache of codes: c = x / s in fp32, rounded to nearest even. fp8_e4m3 takes s from
   * `scales`, and what passes ±448 becomes ±448; int8 has s = max |x| / 127 over the head of the token, and c = 0 where
   * s is 0. Where an element is not finite all of an int8 head is NaN; of e4m3 a NaN alone, and ±∞ is ±448.
   */
  virtual void kvWrite(const KvCacheView& cache, int32_t layer, const Heads& key, const Heads& value,
                       const int64_t* slots, const KvScales& scales, Stream& stream) = 0;

  /**
   * headNorm of query and key where a weight is given, rope, then kvWrite: the same bits in query and cache. What `key`
   * holds afterwards is left open, so that it need not be written. Here as the ops one by one. Positions and frequencies
   * may be read before the ops ahead have ended, as the weight of `fusedLinear`.
   */
  virtual void ropeKvWrite(const KvCacheView& cache, int32_t layer, const RopeWrite& step, Stream& stream);

  /** Many blocks at once; see ops/block_copies.h. */
  virtual void copyBlocks(const BlockCopies& copies, Stream& stream) = 0;

  /**
   * Causal attention over the paged cache, ragged: query token i of sequence s stands at position
   * contextLength[s] − queryLength[s] + i and sees keys j ≤ position (and j > position − window when
   * window > 0). Query head h reads KV head h / (heads / kvHeads). softmax(q·k·scale)·v, but for what
   * ops/attention_variant.h adds. Codes of a cache are multiplied by their scales.
   * The result of a sequence does not depend on the other sequences of the batch; on how many of its query tokens one
   * call takes it may, in its last bits: up to kMostDecodeTokens are decodes. With a cache of 16 bits the softmax
   * weights may be rounded to its dtype before they meet the values.
   */
  virtual void pagedAttention(const Heads& out, const Heads& query, const KvCacheView& cache, int32_t layer,
                              const AttentionBatch& batch, float scale, const AttentionVariant& variant,
                              const AttentionScratch& scratch, Stream& stream) = 0;

  /**
   * ropeKvWrite of a step, then pagedAttention of its queries; what step.query holds afterwards is left open. Token t has
   * the slot of its own place in its sequence's context, or a negative one. The last bits of a result may depend on how
   * many sequences there are. What is older than the step, of cache, tables and lengths, may be read before the ops ahead
   * have ended, as the weight of `fusedLinear`. Here as the ops one by one.
   */
  virtual void ropeAttention(const Heads& out, const RopeWrite& step, const KvCacheView& cache, int32_t layer,
                             const AttentionBatch& batch, float scale, const AttentionVariant& variant,
                             const AttentionScratch& scratch, Stream& stream);

  /** Stores rows [tokens, width] of a step: a latent and its rotated key each. slots: as in kvWrite. */
  virtual void latentWrite(const LatentCacheView& cache, int32_t layer, const Matrix& rows, const int64_t* slots,
                           Stream& stream) = 0;

  /** out[r] = the cached row of slots[r], or zeros where that is negative: what is to be expanded. */
  virtual void latentRead(const Matrix& out, const LatentCacheView& cache, int32_t layer, const int64_t* slots,
                          Stream& stream) = 0;

  /**
   * pagedAttention of absorbed queries over cached latents, without a window: a row is the key of all heads
   * (query.dim = cache.width), its first out.dim elements are their value.
   */
  virtual void latentAttention(const Heads& out, const Heads& query, const LatentCacheView& cache, int32_t layer,
                               const AttentionBatch& batch, float scale, const AttentionScratch& scratch,
                               Stream& stream) = 0;

  /**
   * The same attention over expanded keys and values, contiguous instead of paged: `batch` has no block table, and a
   * sequence's contextLength keys lie from its keyStart on.
   */
  virtual void expandedAttention(const Heads& out, const Heads& query, const ExpandedKeys& keys,
                                 const AttentionBatch& batch, float scale, Stream& stream) = 0;

  /** out[r, i] = silu(gateUp[r, i]) · gateUp[r, columns + i]; gateUp is [rows, 2 · out.columns]. */
  virtual void swiglu(const Matrix& out, const Matrix& gateUp, Stream& stream) = 0;

  /** Picks a token a row; see ops/sampling.h for the definition. */
  virtual void sample(const SampleArguments& arguments, Stream& stream) = 0;

  /** Every tokens[i] that is sampledAt(row) becomes sampled[row]; others stay. All in device memory. */
  virtual void resolveTokens(int32_t* tokens, int64_t count, const int32_t* sampled, Stream& stream) = 0;

  /**
   * Where the last entry of a row's history is of sampledAt(other row), that token counts as one of the output more:
   * in the entry that it has, and then the last one is skipped, or else in the last one. All in device memory.
   */
  virtual void resolveHistory(TokenCount* history, const SamplingParams* params, int32_t rows, const int32_t* sampled,
                              Stream& stream) = 0;
};

}  // namespace octavo
