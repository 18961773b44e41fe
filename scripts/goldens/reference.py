"""What transformers makes of a saved model: fp32 arithmetic on the weights as stored."""
import base64

import torch
from transformers import AutoModelForCausalLM


def load(folder: str):
    """From the files, so that saving and loading are part of the reference."""
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")
    return model.eval()


@torch.no_grad()
def logits(model, ids: list[int]) -> torch.Tensor:
    """[tokens, vocabulary]"""
    return model(torch.tensor([ids]), use_cache=False).logits[0].float()


def greedy(model, ids: list[int], count: int) -> tuple[list[int], list[float]]:
    """The continuation and how far the best logit was above the second at each step."""
    tokens, margins = [], []
    for _ in range(count):
        best = torch.topk(logits(model, ids + tokens)[-1], 2)
        tokens.append(int(best.indices[0]))
        margins.append(round(float(best.values[0] - best.values[1]), 6))
    return tokens, margins


def base64_of(values: torch.Tensor) -> str:
    """Little-endian fp32."""
    return base64.b64encode(values.contiguous().numpy().astype("<f4").tobytes()).decode()
