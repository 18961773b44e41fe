"""PyTorch's F.linear (cuBLAS) in bf16 on cases of bench:gemm, weights rotated so that each is read from memory.

    python3 scripts/bench/gemm-torch.py [--only TEXT]...

Needs torch with CUDA.
"""

from torch.nn.functional import linear

from torch_replay import asked, cold_rotation, replay_microseconds, report, uniform

# name, rows, columns, depth, unit
CASES = [
    ("bf16 4096x4096x4096", 4096, 4096, 4096, "TFLOP/s"),
    ("bf16 8192x8192x8192", 8192, 8192, 8192, "TFLOP/s"),
    ("bf16 256x4096x4096", 256, 4096, 4096, "µs"),
    ("bf16 8192x8192, M=1", 1, 8192, 8192, "µs"),
    ("bf16 8192x8192, M=16", 16, 8192, 8192, "µs"),
    ("bf16 8192x8192, M=32", 32, 8192, 8192, "µs"),
    ("bf16 8192x8192, M=64", 64, 8192, 8192, "µs"),
    ("bf16 8192x8192, M=128", 128, 8192, 8192, "µs"),
    ("W3A16 8192x8192, M=16", 16, 8192, 8192, "µs"),  # its bar is a share of bf16
]
# The layers of an 8B model: columns, depth
LAYERS = [(6144, 4096), (4096, 4096), (28672, 4096), (4096, 14336), (128256, 4096)]
CASES += [
    (f"bf16 {depth}x{columns}, M={rows}", rows, columns, depth, "µs") for columns, depth in LAYERS for rows in (64, 128)
]
CASES += [
    (f"bf16 {rows}x{columns}x{depth}", rows, columns, depth, "TFLOP/s")
    for rows in (512, 1024)
    for columns, depth in LAYERS[:-1]
]

for name, rows, columns, depth, unit in asked(CASES):
    x = uniform(rows, depth)
    weights = [uniform(columns, depth) for _ in range(cold_rotation(columns * depth * 2))]
    time = replay_microseconds(len(weights), lambda turn: linear(x, weights[turn]))
    report(name, "cuBLAS bf16", time if unit == "µs" else 2 * rows * columns * depth / time * 1e-6, unit)
