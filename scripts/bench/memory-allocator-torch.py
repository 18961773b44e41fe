"""Nanoseconds that an allocation and its free take in PyTorch's caching allocator: the same sizes as section
`allocator` of scripts/bench/memory.cjs, which runs this where there is a card and torch; one thread, medians of short
batches.

    python3 scripts/bench/memory-allocator-torch.py [--json]

Calls the allocator itself (torch._C._cuda_cudaCachingAllocator_raw_alloc), so that no tensor is made. What Python adds
to a pair is measured and printed beside it: the loop and two empty calls of C functions in the same module. `gross` has
it, `net` has not; the truth of the allocator alone is a little below `net`, as raw_alloc also parses two arguments,
makes an integer and lets the interpreter lock go.
"""

import argparse
import json
import random
import statistics
import time

import torch

PAIRS, BATCHES, LIVE = 1000, 201, 256
MIX = "mix of 512 B to 8 MiB, 256 live"
alloc = torch._C._cuda_cudaCachingAllocator_raw_alloc
free = torch._C._cuda_cudaCachingAllocator_raw_delete
nothing = torch._C._cuda_getDevice  # reads an integer


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


def fixed_overhead():
    def body():
        for _ in range(PAIRS):
            nothing()
            nothing()

    return batches(body)


def mixed_sizes():
    rng = random.Random(1)
    sizes = [int(2 ** rng.uniform(9, 23)) for _ in range(PAIRS)]
    victims = [rng.randrange(LIVE) for _ in range(PAIRS)]
    return sizes, victims


def mix(stream):
    sizes, victims = mixed_sizes()
    live = [alloc(sizes[index % PAIRS], stream) for index in range(LIVE)]

    def body():
        for size, victim in zip(sizes, victims):
            free(live[victim])
            live[victim] = alloc(size, stream)

    cost = batches(body)
    for block in live:
        free(block)
    return cost


def mix_overhead():
    sizes, victims = mixed_sizes()
    live = list(range(LIVE))

    def body():
        for size, victim in zip(sizes, victims):
            live[victim]
            nothing()
            live[victim] = nothing()

    return batches(body)


def measure():
    stream = torch.cuda.current_stream().cuda_stream
    plain, mixed = fixed_overhead(), mix_overhead()
    costs = [
        ("64 KiB", fixed(65536, stream), plain),
        ("4 MiB", fixed(4 << 20, stream), plain),
        (MIX, mix(stream), mixed),
    ]
    return [{"name": name, "gross": cost, "net": cost - overhead} for name, cost, overhead in costs]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    as_json = parser.parse_args().json
    torch.cuda.init()
    torch.empty(1, device="cuda")
    cases = measure()
    if as_json:
        print(json.dumps({"version": torch.__version__, "cases": cases}))
        return
    print(f"torch {torch.__version__} on {torch.cuda.get_device_name()}")
    for case in cases:
        print(f"{case['name']}: {case['gross']:.0f} ns a pair, {case['net']:.0f} ns without Python's share")


main()
