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


def write_golden(tiny: TinyModel, folder: Path) -> None:
    model = reference.load(str(folder))
    generator = torch.Generator().manual_seed(len(tiny.name))
    prompt = torch.randint(0, tiny.config.vocab_size, (PROMPT_TOKENS,), generator=generator).tolist()
    values = reference.logits(model, prompt)
    tokens, margins = reference.greedy(model, prompt, GREEDY_TOKENS)
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


def main(names: list[str]) -> None:
    for tiny in MODELS:
        if names and tiny.name not in names:
            continue
        folder = ROOT / tiny.name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        write_model(tiny, folder)
        write_golden(tiny, folder)
        size = sum(file.stat().st_size for file in folder.iterdir())
        print(f"{tiny.name}: {size} bytes")


if __name__ == "__main__":
    torch.manual_seed(0)
    torch.use_deterministic_algorithms(True)
    main(sys.argv[1:])
