// The paged KV cache as ops see it, and where in a block everything is.
//
// A block is [layer][k|v][kv head][token][dim] of its dtype; in a cache of 8-bit codes that have scales of their own,
// these follow in the same block, fp32, so that a block is still one piece that can be copied.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"

namespace octavo {

/** What number stands for a code of 1: the code itself times the scale is the key or value. */
enum class KvScaling : uint8_t {
  kNone,    // floats, no codes
  kTensor,  // one number for the keys of a layer and one for its values: they are the model's, not the cache's
  kHead,    // [layer][k|v][kv head] at the end of the block: what its keys and values were written with
  kToken,   // [layer][k|v][kv head][token] at the end of the block
};

/** Codes are fp8_e4m3 (per tensor or head) or int8 (per token). */
constexpr bool isCode(DType dtype) { return dtype == DType::kE4M3 || dtype == DType::kI8; }

/** How an engine's cache of that dtype scales: e4m3, a float, needs no more than one number for all. */
constexpr KvScaling scalingOf(DType dtype) {
  if (dtype == DType::kI8) return KvScaling::kToken;
  return dtype == DType::kE4M3 ? KvScaling::kTensor : KvScaling::kNone;
}

/** Bytes of the scales of a block: whole chunks of 16, so that every block begins on one. */
constexpr size_t kvScaleBytes(KvScaling scaling, int32_t layers, int32_t kvHeads, int32_t blockSize) {
  const size_t heads = static_cast<size_t>(layers) * 2 * static_cast<size_t>(kvHeads);
  if (scaling == KvScaling::kToken) return heads * static_cast<size_t>(blockSize) * sizeof(float);
  return scaling == KvScaling::kHead ? (heads * sizeof(float) + 15) / 16 * 16 : 0;
}

/** The paged KV cache, blocks end to end. */
struct KvCacheView {
  void* data = nullptr;
  DType dtype = DType::kF32;
  int64_t blocks = 0;
  int32_t layers = 0;
  int32_t kvHeads = 0;
  int32_t blockSize = 0;  // tokens a block: 16, 32 or 64
  int32_t headDim = 0;
  KvScaling scaling = KvScaling::kNone;

  bool operator==(const KvCacheView&) const = default;

  /** Of a block, before its scales. */
  size_t codeBytes() const {
    return static_cast<size_t>(layers) * 2 * static_cast<size_t>(kvHeads) * static_cast<size_t>(blockSize) *
           static_cast<size_t>(headDim) * dtypeBytes(dtype);
  }
  size_t blockBytes() const { return codeBytes() + kvScaleBytes(scaling, layers, kvHeads, blockSize); }
  char* block(int64_t index) const { return static_cast<char*>(data) + index * static_cast<int64_t>(blockBytes()); }
  /** Heads before this one in a block; `side`: 0 keys, 1 values. */
  int64_t headIndex(int32_t layer, int32_t side, int64_t head) const {
    return (int64_t{layer} * 2 + side) * kvHeads + head;
  }
  /** Keys or values [blockSize, headDim] of one head. */
  void* rows(int64_t index, int32_t layer, int32_t side, int64_t head) const {
    const int64_t elements = int64_t{blockSize} * headDim;
    return block(index) + headIndex(layer, side, head) * elements * static_cast<int64_t>(dtypeBytes(dtype));
  }
  /** The scale of a token's key or value: kHead or kToken. */
  float* scale(int64_t index, int32_t layer, int32_t side, int64_t head, int64_t token) const {
    const int64_t at = headIndex(layer, side, head);
    float* const scales = reinterpret_cast<float*>(block(index) + codeBytes());
    return scales + (scaling == KvScaling::kToken ? at * blockSize + token : at);
  }
};

/** The scales of a layer that its codes are written with; what is absent is 1. */
struct KvScales {
  float key = 1, value = 1;           // kTensor
  const float* keyHeads = nullptr;    // kHead: [kvHeads], in device memory
  const float* valueHeads = nullptr;
};

}  // namespace octavo
