// The byte limit: how fast this card reads so many bytes in the same form, a node of a replayed graph.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <map>

namespace octavo::bench {

class PlainRead {
 public:
  PlainRead(int multiprocessors, cudaStream_t stream) : multiprocessors_(multiprocessors), stream_(stream) {}

  /** Microseconds to read `bytes` cold: the best of several launch shapes, measured once for each size. */
  double microseconds(size_t bytes);

 private:
  double measure(size_t bytes) const;

  int multiprocessors_ = 0;
  cudaStream_t stream_ = nullptr;
  std::map<size_t, double> measured_;  // by bytes
};

}  // namespace octavo::bench
