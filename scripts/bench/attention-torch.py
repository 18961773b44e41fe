"""PyTorch's SDPA (cuDNN and FA2) on the prefill cases of bench:attention: causal, bf16, contiguous keys and values.

    python3 scripts/bench/attention-torch.py [--only TEXT]...

Needs torch with CUDA. A backend that refuses a case is named on stderr and gives no line.
"""

import sys

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.bias import causal_lower_right
from torch.nn.functional import scaled_dot_product_attention

from torch_replay import asked, cold_rotation, replay_microseconds, report, uniform

BACKENDS = {"SDPA cuDNN": SDPBackend.CUDNN_ATTENTION, "SDPA FA2": SDPBackend.FLASH_ATTENTION}

# name, heads, kv heads, head dim, query tokens, context, unit
CASES = [
    ("prefill 64q/8kv 8k", 64, 8, 128, 8192, 8192, "TFLOP/s"),
    ("prefill 64q/8kv 32k", 64, 8, 128, 32768, 32768, "TFLOP/s"),
    ("prefill 32q/8kv 1k", 32, 8, 128, 1024, 1024, "µs"),
    ("prefill d64 64q/8kv 16k", 64, 8, 64, 16384, 16384, "TFLOP/s"),
    ("prefill d256 32q/8kv 16k", 32, 8, 256, 16384, 16384, "TFLOP/s"),
    ("prefill 2048 of 34816 64q/8kv", 64, 8, 128, 2048, 34816, "TFLOP/s"),
]
# The path for A100-class cards is compared with the kernel made for those.
AMPERE = ("A100 path: prefill 32q/32kv 8k", 32, 32, 128, 8192, 8192, "TFLOP/s")


def measure(heads, kv_heads, dim, query, context, repeats):
    """Microseconds of one call under the backend that is enabled; KV heads as they are, or repeated beforehand."""
    copies = heads // kv_heads if repeats else 1
    queries = uniform(1, heads, query, dim)
    pairs = []
    for _ in range(cold_rotation(context * kv_heads * copies * dim * 4)):
        pair = uniform(1, kv_heads, context, dim), uniform(1, kv_heads, context, dim)
        pairs.append([x.repeat_interleave(copies, 1) for x in pair])
    mask = {"is_causal": True} if query == context else {"attn_mask": causal_lower_right(query, context)}

    def launch(turn):
        key, value = pairs[turn]
        return scaled_dot_product_attention(queries, key, value, enable_gqa=not repeats and heads != kv_heads, **mask)

    return replay_microseconds(len(pairs), launch)


def best_microseconds(peer, shape):
    """None where the backend takes the shape neither with fewer KV heads nor with all of them."""
    for repeats in (False, True):
        try:
            with sdpa_kernel(BACKENDS[peer]):
                return measure(*shape, repeats)
        except (RuntimeError, ValueError) as refusal:
            torch.cuda.synchronize()
            print(f"{peer}, {shape}: {str(refusal).splitlines()[0]}", file=sys.stderr)
    return None


def run(case, backends):
    """A line for every backend that takes the case."""
    name, heads, kv_heads, dim, query, context, unit = case
    flops = 4 * heads * dim * (query * (context - query) + query * (query + 1) / 2)
    for peer in backends:
        time = best_microseconds(peer, (heads, kv_heads, dim, query, context))
        if time is not None:
            report(name, peer, time if unit == "µs" else flops / time * 1e-6, unit)


for case in asked(CASES):
    run(case, list(BACKENDS))
for case in asked([AMPERE]):
    run(case, ["SDPA FA2"])
