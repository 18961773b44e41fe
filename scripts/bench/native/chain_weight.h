// A weight of the chain in device memory: numbers or codes, at random, as the engine launches its products of few rows.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>

#include "cuda/device/device_traits.h"
#include "ops/fused_linear.h"
#include "scripts/bench/native/gemm_case.h"

namespace octavo::bench {

struct ChainLaunch {
  cuda::DeviceTraits traits;
  cudaStream_t stream = nullptr;
};

class ChainWeight {
 public:
  virtual ~ChainWeight() = default;
  virtual size_t bytes() const = 0;
  virtual void launch(const FusedLinear& fused, const ChainLaunch& to) const = 0;
};

/** [rows, columns]; without a format of bf16. */
std::unique_ptr<ChainWeight> chainWeight(int64_t rows, int64_t columns, const CodedFormat* format, cudaStream_t stream);

}  // namespace octavo::bench
