"""What the PyTorch peers of the kernel benchmarks share: times inside replayed graphs, operands, lines."""

import argparse
import json
import math

import torch

COLD_BYTES = 300_000_000


def cold_rotation(size):
    """Operands of `size` bytes that take turns, so that the L2 has forgotten one when it comes again."""
    return max(2, math.ceil(COLD_BYTES / size))


def uniform(*shape):
    """bf16, uniform with variance 1: the values that our own program multiplies."""
    return ((torch.rand(*shape, device="cuda") * 2 - 1) * math.sqrt(3)).bfloat16()


def replay_microseconds(rotation, launch, replays=9):
    """The median of replays of a graph of launch(turn), one node a turn, in rounds of about 2 ms."""

    def capture(rounds):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for node in range(rotation * rounds):
                launch(node % rotation)
        return graph

    def replay(graph, nodes):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        return begin.elapsed_time(end) * 1000 / nodes

    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):  # outside of a capture, for what is chosen and loaded at first use
        for turn in range(3):
            launch(turn % rotation)
    torch.cuda.synchronize()
    graph = capture(1)
    replay(graph, rotation)
    rounds = max(1, min(math.ceil(2000 / (replay(graph, rotation) * rotation)), 1024 // rotation))
    graph = capture(rounds)
    replay(graph, rotation * rounds)
    times = sorted(replay(graph, rotation * rounds) for _ in range(replays))
    return times[replays // 2]


def asked(cases):
    """Those of (name, …) whose name contains a TEXT of `--only TEXT`; all without one."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", action="append", default=[])
    only = parser.parse_args().only
    return [case for case in cases if not only or any(text in case[0] for text in only)]


def report(case, name, value, unit):
    """One line for scripts/bench/kernels/peers.cjs."""
    print(json.dumps({"case": case, "name": name, "value": value, "unit": unit}), flush=True)
