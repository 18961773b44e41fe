"""Writes test/goldens/ropes.json: inverse frequencies and cos/sin factors that transformers computes."""
import json
from pathlib import Path

import transformers
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

OUTPUT = Path(__file__).resolve().parents[2] / "test" / "goldens" / "ropes.json"

LLAMA3 = dict(
    rope_type="llama3", low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=8192
)
YARN = dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=32768)

# name, rope parameters, head size, max_position_embeddings
CASES = [
    ("linear 8", dict(rope_type="linear", factor=8.0, rope_theta=1e6), 128, 8192),
    ("Llama 3.1", dict(LLAMA3, factor=8.0, rope_theta=5e5), 128, 131072),
    ("Llama 3.2", dict(LLAMA3, factor=32.0, rope_theta=5e5), 64, 131072),
    ("Qwen3 yarn", dict(YARN, rope_theta=1e6), 128, 131072),
    ("yarn attention_factor", dict(YARN, rope_theta=1e6, attention_factor=1.25), 128, 131072),
    ("yarn betas", dict(YARN, rope_theta=1e4, beta_fast=64.0, beta_slow=2.0), 64, 131072),
    ("yarn exact ramp", dict(YARN, rope_theta=1e4, truncate=False), 64, 131072),
    ("yarn mscale", dict(YARN, rope_theta=1e4, mscale=1.0, mscale_all_dim=0.707), 64, 131072),
    ("yarn zero mscale", dict(YARN, rope_theta=1e4, mscale=1.0, mscale_all_dim=0.0), 64, 131072),
    ("yarn narrow", dict(YARN, rope_theta=1e4, original_max_position_embeddings=8), 16, 32),
    ("DeepSeek numbers", dict(YARN, rope_theta=1e4, factor=40.0, original_max_position_embeddings=4096), 64, 163840),
]


def frequencies(name: str, parameters: dict, head_dim: int, positions: int) -> dict:
    config = LlamaConfig(
        hidden_size=head_dim * 2,
        num_attention_heads=2,
        head_dim=head_dim,
        max_position_embeddings=positions,
        rope_parameters=dict(parameters),
    )
    inverse, magnitude = ROPE_INIT_FUNCTIONS[parameters["rope_type"]](config, "cpu")
    return dict(
        name=name,
        parameters=parameters,
        headDim=head_dim,
        maxPositions=positions,
        inverseFrequencies=[float(f"{value:.9g}") for value in inverse.tolist()],
        magnitude=magnitude,
    )


if __name__ == "__main__":
    cases = [frequencies(*case) for case in CASES]
    golden = dict(reference=f"transformers {transformers.__version__}", cases=cases)
    OUTPUT.write_text(json.dumps(golden) + "\n")
    print(f"{len(cases)} ropes, {OUTPUT.stat().st_size} bytes")
