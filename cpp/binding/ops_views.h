// Views of buffers as JavaScript describes them, checked to lie inside their buffer.
#pragma once

#include "binding/arguments.h"
#include "binding/ops_table.h"
#include "ops/latent.h"

namespace octavo {

/** One call of an op: the device it runs on and its named arguments. All readers throw Error. */
class OpCall {
 public:
  OpCall(const OpsTable& table, OpenDevice& device, Fields fields)
      : table_(table), device_(device), fields_(std::move(fields)) {}

  Ops& ops() const { return device_.ops(); }
  Stream& stream() const { return *device_.stream; }
  OpenDevice& device() const { return device_; }
  const Fields& fields() const { return fields_; }

  /** {buffer, dtype, offset, rows, columns, stride}, offset and stride in elements; a float dtype. */
  Matrix matrix(const char* name) const;
  /** {buffer, dtype, offset, size}; empty when absent and `optional`. */
  Vector vector(const char* name, bool optional = false) const;
  /** {buffer, dtype, offset, tokens, heads, dim, tokenStride} */
  Heads heads(const char* name) const;
  /** {buffer, dtype, scaling, offset, blocks, layers, kvHeads, blockSize, headDim}; offset 0 where it has codes. */
  KvCacheView cache(const char* name) const;
  /** {buffer, dtype, offset, blocks, layers, blockSize, width} */
  LatentCacheView latentCache(const char* name) const;

  /** The address of the buffer whose handle is `name` of `owner`, which must have so many bytes. */
  void* bytes(const Fields& owner, const char* name, int64_t bytes) const;

  /** Throws kInvalidArgument when two sizes that must agree do not. */
  void requireEqual(const char* left, int64_t leftValue, const char* right, int64_t rightValue) const;

 private:
  /** The address of blocks of blockElements each, wherever that product lies. */
  void* blockAddress(const Fields& view, DType dtype, int64_t blocks, int64_t blockElements) const;
  /** The address of element `offset`, after which `span` elements must lie in the buffer. */
  void* address(const Fields& view, DType dtype, int64_t span) const;

  const OpsTable& table_;
  OpenDevice& device_;
  Fields fields_;
};

}  // namespace octavo
