"""Nanoseconds that an allocation and its free take in PyTorch's caching allocator, for comparison with
`npm run bench:memory -- allocator`: the same sizes, one thread, medians of short batches.

    python3 scripts/bench/memory-allocator-torch.py

Needs torch with CUDA. Calls the allocator itself (torch._C._cuda_cudaCachingAllocator_raw_alloc), so that no tensor
is made; an empty call into the same module is measured and taken off, so that Python's own cost is not PyTorch's.
"""

import random
import statistics
import time

import torch

PAIRS, BATCHES, LIVE = 1000, 201, 256
alloc = torch._C._cuda_cudaCachingAllocator_raw_alloc
free = torch._C._cuda_cudaCachingAllocator_raw_delete


def batches(body):
    costs = []
    for batch in range(BATCHES + 1):
        started = time.perf_counter_ns()
        body()
        costs.append((time.perf_counter_ns() - started) / PAIRS)
    return statistics.median(costs[1:])  # the first one warms up


def fixed(size, stream):
    def body():
        for _ in range(PAIRS):
            free(alloc(size, stream))

    return batches(body)


def mix(stream):
    rng = random.Random(1)
    sizes = [int(2 ** rng.uniform(9, 23)) for _ in range(PAIRS)]
    victims = [rng.randrange(LIVE) for _ in range(PAIRS)]
    live = [alloc(sizes[index % PAIRS], stream) for index in range(LIVE)]

    def body():
        for size, victim in zip(sizes, victims):
            free(live[victim])
            live[victim] = alloc(size, stream)

    cost = batches(body)
    for block in live:
        free(block)
    return cost


def call_overhead():
    """Two calls of C functions that do nothing but read an integer."""
    nothing = torch._C._cuda_getDevice

    def body():
        for _ in range(PAIRS):
            nothing()
            nothing()

    return batches(body)


def main():
    torch.cuda.init()
    stream = torch.cuda.current_stream().cuda_stream
    torch.empty(1, device="cuda")
    print(f"torch {torch.__version__} on {torch.cuda.get_device_name()}")
    overhead = call_overhead()
    print(f"two empty calls from Python: {overhead:.0f} ns")
    for name, cost in [
        ("64 KiB", fixed(65536, stream)),
        ("4 MiB", fixed(4 << 20, stream)),
        ("mix of 512 B to 8 MiB, 256 live", mix(stream)),
    ]:
        print(f"{name}: {cost:.0f} ns a pair, {cost - overhead:.0f} ns without the calls")


main()
