"""How far rounding to bf16 alone may take SmolLM2-135M from its golden: test/gpu/80-smollm2's bounds rest on this.

transformers runs in bf16 on the golden's prompts, again and again, each time with the embeddings off by up to one unit
of the last place: the spread is what chance makes of the same arithmetic. Printed: the largest error and the root of the
mean square of the first logits, the widest margin that was decided differently, the error of the likelihood.

    venv/bin/python scripts/goldens/rounding.py MODEL_FOLDER GOLDEN_JSON [RUNS]
"""

import json
import sys

import torch
from transformers import AutoModelForCausalLM

LAST_PLACE = 2.0**-8


def perturbed(model, ids, generator):
    rows = model.model.embed_tokens(torch.tensor([ids]))
    noise = 1 + LAST_PLACE * (2 * torch.rand(rows.shape, generator=generator) - 1)
    return model(inputs_embeds=(rows * noise).to(rows.dtype)).logits[0].float()


def first_errors(case, logits):
    best = case["firstTop8"]
    row = logits[len(case["ids"]) - 1, best["ids"]]
    return (row - torch.tensor(best["logits"])).abs()


def widest_wrong(case, logits):
    first = len(case["ids"]) - 1
    chosen = logits[first : first + len(case["greedy"])].argmax(dim=-1).tolist()
    pairs = zip(chosen, case["greedy"], case["margin"])
    return max((margin for token, golden, margin in pairs if token != golden), default=0.0)


def likelihood_error(passage, logits):
    ids = torch.tensor(passage["ids"])
    loss = torch.nn.functional.cross_entropy(logits[:-1], ids[1:])
    return abs(loss.item() - passage["meanNll"])


def run(model, golden, seed):
    generator = torch.Generator().manual_seed(seed)
    errors, wrong = [], 0.0
    for case in golden["cases"]:
        logits = perturbed(model, case["ids"] + case["greedy"], generator)
        errors.append(first_errors(case, logits))
        wrong = max(wrong, widest_wrong(case, logits))
    passage = golden["passage"]
    likelihood = likelihood_error(passage, perturbed(model, passage["ids"], generator))
    errors = torch.cat(errors)
    return errors.max().item(), errors.square().mean().sqrt().item(), wrong, likelihood


def main():
    folder, golden_file, runs = (*sys.argv[1:], "40")[:3]
    with open(golden_file, encoding="utf8") as file:
        golden = json.load(file)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16).eval()
    with torch.no_grad():
        found = torch.tensor([run(model, golden, seed) for seed in range(int(runs))])
    names = ("largest error", "root of the mean square", "margin of a wrong step", "likelihood")
    for name, column in zip(names, found.T):
        print(f"{name}: mean {column.mean():.3f}, most {column.max():.3f}")


main()
