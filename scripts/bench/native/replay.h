// Times of launches inside replayed graphs, where a kernel of 10 µs is not hidden behind its own launch.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>

namespace octavo::bench {

/** Puts node number `turn` (0 … rotation - 1) into the stream: the same work on other operands each turn. */
using Launch = std::function<void(int turn)>;

/** Operands of `bytes` each that must take turns, so that the L2 has forgotten one when it comes again. */
int coldRotation(size_t bytes);

/** Microseconds a launch: the median of `replays` replays of a graph that goes whole rounds of the rotation. */
double replayMicroseconds(int rotation, const Launch& launch, cudaStream_t stream, int replays = 9);

}  // namespace octavo::bench
