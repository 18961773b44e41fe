// The weight of a case in device memory, in copies that take turns, and its rows as numbers.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <vector>

#include "cuda/device/device_traits.h"
#include "ops/tensor.h"
#include "scripts/bench/native/gemm_case.h"

namespace octavo::bench {

class GemmWeight {
 public:
  virtual ~GemmWeight() = default;

  /** As many as take turns without meeting in the L2. */
  virtual int count() const = 0;
  /** Of one copy: numbers, or codes and scales. */
  virtual size_t bytes() const = 0;
  /** Once, before the launches with this x: what is not to be timed of them. */
  virtual void prepare(const Matrix&, const cuda::DeviceTraits&, cudaStream_t) {}
  /** out = x · weightᵀ with copy number `turn`, as the engine launches it. */
  virtual void launch(const Matrix& out, const Matrix& x, int turn, const cuda::DeviceTraits& traits,
                      cudaStream_t stream) const = 0;
  /** Row n of copy number `turn`, in fp32, by the CPU's definition. */
  virtual std::vector<float> row(int turn, int64_t n) const = 0;
  /** The same of what row `m` of x meets. */
  virtual std::vector<float> rowFor(int turn, int64_t, int64_t n) const { return row(turn, n); }
  /** What the product makes of a row of x first, where activations are quantised. */
  virtual void changeInput(std::vector<float>&) const {}
};

std::unique_ptr<GemmWeight> denseWeight(const GemmCase& of, cudaStream_t stream);
std::unique_ptr<GemmWeight> codedWeight(const GemmCase& of);
std::unique_ptr<GemmWeight> groupedWeight(const GemmCase& of);
/** Of a step of a mixture. */
std::unique_ptr<GemmWeight> expertsWeight(const GemmCase& of, cudaStream_t stream);

/** Random codes that are numbers: e4m3 has two that are not. */
std::vector<uint8_t> randomCodes(size_t bytes, CodeType type);
/** `count` scales between 1/128 and 1/64. */
std::vector<uint8_t> randomScales(size_t count, DType type);

}  // namespace octavo::bench
