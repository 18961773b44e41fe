#include "binding/ops_views.h"

#include <limits>

#include "base/error.h"

namespace octavo {

namespace {

// Far above any memory, and a product of two still fits: sizes are multiplied only after this.
constexpr int64_t kMaxSize = int64_t{1} << 31;
constexpr int64_t kMaxOffset = int64_t{1} << 52;
constexpr int64_t kMaxCount = std::numeric_limits<int32_t>::max();

/** Elements from the first of the first row to the last of the last; saturates far above any buffer. */
int64_t spanOf(int64_t rows, int64_t columns, int64_t stride) { return (rows - 1) * stride + columns; }

int64_t strideOf(const Fields& view, const char* name, int64_t columns) {
  return view.integer(name, columns, kMaxSize);
}

int32_t blockSizeOf(const Fields& view) {
  const auto size = static_cast<int32_t>(view.integer("blockSize", 16, 64));
  if (size != 16 && size != 32 && size != 64) view.refuse("blockSize", "16, 32 or 64");
  return size;
}

KvScaling readScaling(const Fields& view, DType dtype) {
  if (isFloat(dtype)) return KvScaling::kNone;
  if (!isCode(dtype)) view.refuse("dtype", "fp32, bf16, fp16, fp8_e4m3 or int8");
  const std::string name = view.text("scaling");
  if (dtype == DType::kI8) {
    if (name != "token") view.refuse("scaling", "'token' for int8");
    return KvScaling::kToken;
  }
  if (name != "tensor" && name != "head") view.refuse("scaling", "'tensor' or 'head' for fp8_e4m3");
  return name == "head" ? KvScaling::kHead : KvScaling::kTensor;
}

}  // namespace

void* OpCall::address(const Fields& view, DType dtype, int64_t span) const {
  const Buffer& buffer = table_.buffer(view.integer("buffer", 0, kMaxOffset));
  if (buffer.device.get() != &device_) {
    throw Error(ErrorCode::kInvalidArgument, view.path() + " lies on another device than the call is for");
  }
  const int64_t offset = view.integer("offset", 0, kMaxOffset);
  const int64_t elements = static_cast<int64_t>(buffer.bytes / dtypeBytes(dtype));
  if (offset > elements || span > elements - offset) {
    throw Error(ErrorCode::kInvalidArgument, view.path() + " covers " + std::to_string(span) + " elements from " +
        std::to_string(offset) + " on, its buffer holds " + std::to_string(elements) + " of " + dtypeName(dtype));
  }
  return static_cast<char*>(buffer.memory.data()) + offset * static_cast<int64_t>(dtypeBytes(dtype));
}

Matrix OpCall::matrix(const char* name) const {
  const Fields view = fields_.fields(name);
  Matrix matrix;
  matrix.dtype = view.floatDType("dtype");
  matrix.rows = view.integer("rows", 1, kMaxCount);
  matrix.columns = view.integer("columns", 1, kMaxCount);
  matrix.stride = strideOf(view, "stride", matrix.columns);
  matrix.data = address(view, matrix.dtype, spanOf(matrix.rows, matrix.columns, matrix.stride));
  return matrix;
}

Vector OpCall::vector(const char* name, bool optional) const {
  if (optional && !fields_.has(name)) return {};
  const Fields view = fields_.fields(name);
  Vector vector;
  vector.dtype = view.floatDType("dtype");
  vector.size = view.integer("size", 1, kMaxCount);
  vector.data = address(view, vector.dtype, vector.size);
  return vector;
}

Heads OpCall::heads(const char* name) const {
  const Fields view = fields_.fields(name);
  Heads heads;
  heads.dtype = view.floatDType("dtype");
  heads.tokens = view.integer("tokens", 1, kMaxCount);
  heads.heads = static_cast<int32_t>(view.integer("heads", 1, 1 << 16));
  heads.dim = static_cast<int32_t>(view.integer("dim", 1, 1 << 14));
  const int64_t columns = static_cast<int64_t>(heads.heads) * heads.dim;
  heads.tokenStride = strideOf(view, "tokenStride", columns);
  heads.data = address(view, heads.dtype, spanOf(heads.tokens, columns, heads.tokenStride));
  return heads;
}

KvCacheView OpCall::cache(const char* name) const {
  const Fields view = fields_.fields(name);
  KvCacheView cache;
  cache.dtype = view.dtype("dtype");
  cache.scaling = readScaling(view, cache.dtype);
  if (isCode(cache.dtype)) view.integer("offset", 0, 0);  // their scales lie on 4 bytes
  cache.blocks = view.integer("blocks", 1, kMaxCount);
  cache.layers = static_cast<int32_t>(view.integer("layers", 1, 1 << 10));
  cache.kvHeads = static_cast<int32_t>(view.integer("kvHeads", 1, 1 << 10));
  cache.blockSize = blockSizeOf(view);
  cache.headDim = static_cast<int32_t>(view.integer("headDim", 1, 256));
  // ≤ 2¹⁰ · 2 · 2¹⁰ · 2⁶ · (2⁸ + 4) elements a block: times the blocks it may pass 2⁶³, so divide instead.
  const auto blockElements = static_cast<int64_t>(cache.blockBytes() / dtypeBytes(cache.dtype));
  cache.data = blockAddress(view, cache.dtype, cache.blocks, blockElements);
  return cache;
}

LatentCacheView OpCall::latentCache(const char* name) const {
  const Fields view = fields_.fields(name);
  LatentCacheView cache;
  cache.dtype = view.floatDType("dtype");
  cache.blocks = view.integer("blocks", 1, kMaxCount);
  cache.layers = static_cast<int32_t>(view.integer("layers", 1, 1 << 10));
  cache.blockSize = blockSizeOf(view);
  cache.width = static_cast<int32_t>(view.integer("width", 1, kMaxLatentWidth));
  cache.data = blockAddress(view, cache.dtype, cache.blocks, int64_t{cache.layers} * cache.blockSize * cache.width);
  return cache;
}

void* OpCall::blockAddress(const Fields& view, DType dtype, int64_t blocks, int64_t blockElements) const {
  const bool absurd = blocks > std::numeric_limits<int64_t>::max() / blockElements;
  return address(view, dtype, absurd ? std::numeric_limits<int64_t>::max() : blocks * blockElements);
}

void* OpCall::bytes(const Fields& owner, const char* name, int64_t bytes) const {
  const Buffer& buffer = table_.buffer(owner.integer(name, 0, kMaxOffset));
  if (buffer.device.get() != &device_) {
    throw Error(ErrorCode::kInvalidArgument, owner.path(name) + " lies on another device than the call is for");
  }
  if (bytes < 0 || static_cast<uint64_t>(bytes) > buffer.bytes) {
    throw Error(ErrorCode::kInvalidArgument, owner.path(name) + " has " + std::to_string(buffer.bytes) +
        " bytes: the call needs " + std::to_string(bytes));
  }
  return buffer.memory.data();
}

void OpCall::requireEqual(const char* left, int64_t leftValue, const char* right, int64_t rightValue) const {
  if (leftValue == rightValue) return;
  throw Error(ErrorCode::kInvalidArgument, fields_.path() + ": " + left + " is " + std::to_string(leftValue) +
      " and " + right + " is " + std::to_string(rightValue) + ": they must be equal");
}

}  // namespace octavo
