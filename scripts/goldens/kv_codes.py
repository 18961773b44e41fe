"""What 8-bit codes of keys and values change, by transformers: python scripts/goldens/kv_codes.py [SMOLLM2_FOLDER GOLDEN]

Keys (after the rotation) and values are rounded as they enter transformers' cache: e4m3 by torch's own cast, with a scale
of 1; int8 with max |x| / 127 of a head and token. Logits over a cache of fp32 are what they are compared with. Writes
test/goldens/kv-codes.json: of every position of the texts, the root mean square of the changes of logits, the share whose
best token stays, and the change of the mean negative log-likelihood.
"""
import json
import pathlib
import sys

import torch
from transformers import AutoModelForCausalLM, DynamicCache

ROOT = pathlib.Path(__file__).resolve().parents[2]


def e4m3(x):
    return x.clamp(-448, 448).to(torch.float8_e4m3fn).to(torch.float32)


def int8(x):
    scale = x.abs().amax(-1, keepdim=True) / 127
    return torch.where(scale > 0, torch.round(x / scale) * scale, torch.zeros_like(x))


class CodedCache(DynamicCache):
    code = None

    def update(self, key, value, layer, *rest, **named):
        return super().update(self.code(key), self.code(value), layer, *rest, **named)


def loss(logits, ids):
    return torch.nn.functional.cross_entropy(logits[:-1], torch.tensor(ids[1:]), reduction="sum").item()


@torch.no_grad()
def figures(folder, texts):
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
    exact = [model(torch.tensor([ids]), use_cache=False).logits[0] for ids in texts]
    positions, targets = sum(map(len, texts)), sum(len(ids) - 1 for ids in texts)
    found = {}
    for name, code in (("fp8_e4m3", e4m3), ("int8", int8)):
        CodedCache.code = staticmethod(code)
        coded = [
            model(torch.tensor([ids]), past_key_values=CodedCache(config=model.config)).logits[0] for ids in texts
        ]
        pairs = list(zip(coded, exact, texts))
        found[name] = {
            "change": (sum((a - b).square().mean(-1).sum().item() for a, b, _ in pairs) / positions) ** 0.5,
            "agreed": sum((a.argmax(-1) == b.argmax(-1)).sum().item() for a, b, _ in pairs) / positions,
            "likelihood": sum(loss(a, ids) - loss(b, ids) for a, b, ids in pairs) / targets,
        }
    return found


torch.set_num_threads(1)
stories = json.loads((ROOT / "models/stories260k/golden-greedy.json").read_text())
golden = {"stories260k": figures(ROOT / "models/stories260k", [one["ids"] for one in stories])}
if len(sys.argv) == 3:
    smollm2 = json.loads(pathlib.Path(sys.argv[2]).read_text())
    cases = [one["ids"] + one["greedy"] for one in smollm2["cases"][:2]]
    golden["smollm2-135m"] = figures(sys.argv[1], [smollm2["passage"]["ids"], *cases])
(ROOT / "test/goldens/kv-codes.json").write_text(json.dumps(golden, indent=2) + "\n")
