"""Writes test/goldens/models/NAME/: the model folder and golden.json."""
import json
import shutil
import sys
from pathlib import Path

import torch
import transformers
from transformers import AutoModelForCausalLM

import reference
from models import MODELS, TinyModel
from weights import randomize

ROOT = Path(__file__).resolve().parents[2] / "test" / "goldens" / "models"
PROMPT_TOKENS = 40
GREEDY_TOKENS = 32
CANDIDATES = 300
# Twice what bf16 activations lose on these models (1 % of the largest logit, about 3).
CLEAR_MARGIN = 0.08


def write_model(tiny: TinyModel, folder: Path) -> None:
    model = AutoModelForCausalLM.from_config(tiny.config, attn_implementation="eager")
    randomize(model, tiny.name)
    model.to(tiny.dtype).save_pretrained(folder, max_shard_size=tiny.shard_bytes)
    if not tiny.old_config:
        return
    config = json.loads((folder / "config.json").read_text())
    for key in ("rope_parameters", "dtype", "transformers_version", "layer_types"):
        config.pop(key, None)
    config = {**config, **tiny.old_config, "transformers_version": "4.44.0"}
    (folder / "config.transformers-4.json").write_text(json.dumps(config, indent=2) + "\n")


def choose_prompt(model, vocabulary: int, seed: int) -> tuple[list[int], list[int], list[float]]:
    """
    Of random prompts the one whose continuation keeps the widest margins for the longest time: in a random
    model most steps are near ties, which a test in bf16 could not hold anyone to.
    """
    generator = torch.Generator().manual_seed(seed)
    prompts = torch.randint(0, vocabulary, (CANDIDATES, PROMPT_TOKENS), generator=generator)
    tokens, margins = reference.greedy(model, prompts, GREEDY_TOKENS)
    # A loop of one token is easy for any model.
    variety = torch.tensor([len(set(row.tolist())) for row in tokens])
    steps = (margins > CLEAR_MARGIN).long().cumprod(dim=1).sum(dim=1)
    best = int(torch.argmax(steps + variety.clamp(max=8)))
    rounded = [round(margin, 6) for margin in margins[best].tolist()]
    return prompts[best].tolist(), tokens[best].tolist(), rounded


def write_golden(tiny: TinyModel, folder: Path) -> None:
    model = reference.load(str(folder))
    prompt, tokens, margins = choose_prompt(model, tiny.config.vocab_size, len(tiny.name))
    values = reference.logits(model, prompt)
    golden = dict(
        reference=f"transformers {transformers.__version__}, torch {torch.__version__}, fp32 eager",
        prompt=prompt,
        rows=values.shape[0],
        columns=values.shape[1],
        logits=reference.base64_of(values),
        greedy=tokens,
        margins=margins,
    )
    (folder / "golden.json").write_text(json.dumps(golden) + "\n")
    clear = next((i for i, margin in enumerate(margins) if margin <= CLEAR_MARGIN), GREEDY_TOKENS)
    print(f"{tiny.name}: {clear} clear steps, {len(set(tokens))} different tokens")


def main(names: list[str]) -> None:
    for tiny in MODELS:
        if names and tiny.name not in names:
            continue
        folder = ROOT / tiny.name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        write_model(tiny, folder)
        write_golden(tiny, folder)


if __name__ == "__main__":
    torch.manual_seed(0)
    torch.use_deterministic_algorithms(True)
    main(sys.argv[1:])
