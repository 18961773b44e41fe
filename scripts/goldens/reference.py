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


@torch.no_grad()
def greedy(model, prompts: torch.Tensor, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Of each prompt [prompts, tokens]: the continuation and how far its logit was above the second's."""
    ids, margins = prompts, []
    for _ in range(count):
        best = torch.topk(model(ids, use_cache=False).logits[:, -1].float(), 2)
        ids = torch.cat([ids, best.indices[:, :1]], dim=1)
        margins.append(best.values[:, 0] - best.values[:, 1])
    return ids[:, prompts.shape[1] :], torch.stack(margins, dim=1)


def base64_of(values: torch.Tensor) -> str:
    """Little-endian fp32."""
    return base64.b64encode(values.contiguous().numpy().astype("<f4").tobytes()).decode()
