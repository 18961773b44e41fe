// Chooses the instantiation of the decode kernel for one dtype of the cache.
#pragma once

#include "cuda/attention/decode.cuh"
#include "cuda/device/cuda_check.h"

namespace octavo::cuda::decode {

template <typename Element, int kHeads, int kLanes>
void launchShape(const Arguments& a, int64_t items, int chunks, bool clustered, cudaStream_t stream) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = 1;
  attribute.val.clusterDim.y = 1;
  attribute.val.clusterDim.z = kSplits;
  cudaLaunchConfig_t config{};
  auto heads = static_cast<unsigned>(a.cache.kvHeads * chunks);
  config.gridDim = dim3(static_cast<unsigned>(items), heads, clustered ? kSplits : 1);
  config.blockDim = dim3(kThreads);
  config.dynamicSmemBytes = Parts<kHeads>::bytes(a.cache.headDim);
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = clustered ? 1 : 0;
  check(cudaLaunchKernelEx(&config, decodeKernel<Element, kHeads, kLanes>, a), "the launch of decodeAttention");
}

template <typename Element, int kHeads>
void launchLanes(const Arguments& a, int64_t items, int chunks, bool clustered, cudaStream_t stream) {
  if (a.cache.headDim <= 64) launchShape<Element, kHeads, 8>(a, items, chunks, clustered, stream);
  else if (a.cache.headDim <= 128) launchShape<Element, kHeads, 16>(a, items, chunks, clustered, stream);
  else launchShape<Element, kHeads, 32>(a, items, chunks, clustered, stream);
}

template <typename Element>
void launchElement(const Arguments& a, int64_t items, bool clustered, cudaStream_t stream) {
  if (a.groupSize == 1) launchLanes<Element, 1>(a, items, 1, clustered, stream);
  else launchLanes<Element, 4>(a, items, (a.groupSize + 3) / 4, clustered, stream);
}

/** One a translation unit, so that they compile side by side. */
void launchF32(const Arguments& a, int64_t items, bool clustered, cudaStream_t stream);
void launchBf16(const Arguments& a, int64_t items, bool clustered, cudaStream_t stream);
void launchF16(const Arguments& a, int64_t items, bool clustered, cudaStream_t stream);
void launchCodes(const Arguments& a, int64_t items, bool clustered, cudaStream_t stream);

}  // namespace octavo::cuda::decode
