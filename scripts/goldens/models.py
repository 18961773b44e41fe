"""The tiny models: one a trait that the loader or the decoder must get right."""
from dataclasses import dataclass, field

import torch
from transformers import LlamaConfig, MistralConfig, PreTrainedConfig, Qwen2Config, Qwen3Config

# Small, but with more than one head a KV head and a vocabulary that is no multiple of anything.
COMMON = dict(
    vocab_size=101,
    hidden_size=64,
    intermediate_size=96,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=256,
    tie_word_embeddings=False,
    bos_token_id=None,
    eos_token_id=None,
    pad_token_id=None,
    rms_norm_eps=1e-5,
)


@dataclass
class TinyModel:
    name: str
    config: PreTrainedConfig
    dtype: torch.dtype = torch.bfloat16
    shard_bytes: int = 10**9
    # config.json as transformers 4 spelled it, beside the new one
    old_config: dict = field(default_factory=dict)


def _config(kind, **changes):
    return kind(**{**COMMON, **changes})


def _llama(**changes):
    return _config(LlamaConfig, **changes)


LLAMA3_ROPE = dict(
    rope_type="llama3",
    factor=8.0,
    low_freq_factor=1.0,
    high_freq_factor=4.0,
    original_max_position_embeddings=128,
)

MODELS = [
    # 5 heads over 1 KV head, a hidden size that is no multiple of 16
    TinyModel(
        "llama",
        _llama(hidden_size=40, intermediate_size=72, num_attention_heads=5, num_key_value_heads=1),
        dtype=torch.float32,
    ),
    TinyModel("llama-fp16-tied", _llama(tie_word_embeddings=True), dtype=torch.float16),
    TinyModel("llama-bf16", _llama(num_attention_heads=2, num_key_value_heads=2)),
    TinyModel("llama-biases", _llama(attention_bias=True, mlp_bias=True)),
    TinyModel("llama-sharded", _llama(intermediate_size=112), shard_bytes=60_000),
    TinyModel(
        "llama-rope-llama3",
        _llama(rope_parameters=dict(LLAMA3_ROPE, rope_theta=10_000.0)),
        old_config=dict(torch_dtype="bfloat16", rope_theta=10_000.0, rope_scaling=LLAMA3_ROPE),
    ),
    TinyModel(
        "llama-rope-linear",
        _llama(rope_parameters=dict(rope_type="linear", factor=4.0, rope_theta=10_000.0)),
        old_config=dict(
            torch_dtype="bfloat16", rope_theta=10_000.0, rope_scaling=dict(type="linear", factor=4.0)
        ),
    ),
    TinyModel(
        "llama-rope-yarn",
        _llama(
            rope_parameters=dict(
                rope_type="yarn",
                factor=8.0,
                original_max_position_embeddings=32,
                rope_theta=10_000.0,
            )
        ),
    ),
    # head size 24 is not hidden / heads = 16; the prompt is longer than the window
    TinyModel("mistral-window", _config(MistralConfig, head_dim=24, sliding_window=7)),
    TinyModel("qwen2-tied", _config(Qwen2Config, tie_word_embeddings=True)),
    # one layer of each kind
    TinyModel(
        "qwen2-window",
        _config(Qwen2Config, use_sliding_window=True, sliding_window=9, max_window_layers=1),
    ),
    TinyModel("qwen3", _config(Qwen3Config, head_dim=24, num_key_value_heads=1)),
]
