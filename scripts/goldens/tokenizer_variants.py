"""Writes test/unit/text/variants.json: the embedded model's tokenizer with one part changed at a
time, and what Hugging Face's tokenizers makes of random strings with it.

Run: python scripts/goldens/tokenizer_variants.py   (tokenizers 0.23.2)
Every part of tokenizer.json that octavo reads and the models at hand do not use is held to this.
"""

import json
import pathlib
import random

from tokenizers import Tokenizer, __version__

ROOT = pathlib.Path(__file__).resolve().parents[2]
BASE = json.loads((ROOT / "models/stories260k/tokenizer.json").read_text())
STRINGS = 10

COMMON = list("  \n\t etaoinsrh.,'\"0123456789 ")
# Characters of old Unicode versions: what they are does not change with the reader's.
RARE = list("éßÆñ½²①Ⅳ\u0345\u0085\u00a0\u2003\u2028\u200d\ufeff\ufffd中文がハ한\u1100\u1161क्ष😀👩🏽\U00010400\U0001d7d8")
PIECES = ["'s", "'T", " the", "Lily", "cat", " cat ", "cats", " a b", "\r\n", "  \n", "▁", "▁▁",
          "<L>", " <L> ", "<R>", " <R> ", " <B> ", "<N>", " <N> x", "<N>y", "<0x41>", "$1"]


def added(token_id, content, **flags):
    token = dict(id=token_id, content=content, single_word=False, lstrip=False, rstrip=False,
                 normalized=False, special=False)
    return {**token, **flags}


def split(behavior, invert=False, pattern=None):
    pattern = pattern or {"Regex": "\\s|a"}
    return {"type": "Split", "pattern": pattern, "behavior": behavior, "invert": invert}


def variants():
    """Name → keys of tokenizer.json to replace; `model` is merged."""
    tokens = BASE["added_tokens"] + [
        added(512, "<L>", lstrip=True), added(513, "<R>", rstrip=True),
        added(514, "<B>", lstrip=True, rstrip=True, special=True),
        added(515, "cat", single_word=True), added(516, "<N>", normalized=True),
        added(517, "<N> x", normalized=True), added(518, "<N>y"),
        added(519, "a b", normalized=True, lstrip=True)]
    yield "added tokens", {"added_tokens": tokens}
    yield "added tokens, no normalizer", {"added_tokens": tokens, "normalizer": None}
    for behavior in ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]:
        none = {"normalizer": None}
        yield f"split {behavior}", {**none, "pre_tokenizer": split(behavior)}
        yield f"split {behavior} inverted", {**none, "pre_tokenizer": split(behavior, True)}
        text = split(behavior, pattern={"String": "e "})
        yield f"split {behavior} by a string", {**none, "pre_tokenizer": text}
        yield f"punctuation {behavior}", {
            "pre_tokenizer": {"type": "Punctuation", "behavior": behavior}}
    for scheme in ["always", "first", "never"]:
        for cut in [True, False]:
            mark = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": cut}
            yield f"metaspace {scheme} {'split' if cut else 'whole'}", {
                "normalizer": None, "pre_tokenizer": mark, "decoder": mark, "added_tokens": tokens}
    yield "digits together", {"pre_tokenizer": {"type": "Digits", "individual_digits": False}}
    yield "digits apart", {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [
        {"type": "Digits", "individual_digits": True}, {"type": "Whitespace"}]}}
    yield "whitespace", {"normalizer": None, "pre_tokenizer": {"type": "Whitespace"}}
    yield "whitespace split", {"normalizer": None, "pre_tokenizer": {"type": "WhitespaceSplit"}}
    for form in ["NFC", "NFD", "NFKC", "NFKD"]:
        yield form, {"normalizer": {"type": form}}
    yield "strip, replace, prepend", {"normalizer": {"type": "Sequence", "normalizers": [
        {"type": "Strip", "strip_left": True, "strip_right": True},
        {"type": "Replace", "pattern": {"Regex": "\\s+"}, "content": "$1▁"},
        {"type": "Prepend", "prepend": "▁"}]}}
    yield "unknown fused", {"model": {"byte_fallback": False}}
    yield "unknown apart", {"model": {"byte_fallback": False, "fuse_unk": False}}
    yield "unknown left out", {"model": {"byte_fallback": False, "unk_token": None}}
    yield "ignore merges", {"model": {"ignore_merges": True},
                            "pre_tokenizer": split("MergedWithNext", pattern={"String": "▁"})}
    yield "roberta", {"post_processor": {
        "type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 1], "trim_offsets": True,
        "add_prefix_space": False}}
    yield "templates in sequence", {"post_processor": {"type": "Sequence", "processors": [
        {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        {**BASE["post_processor"], "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}},
                                              {"Sequence": {"id": "A", "type_id": 0}},
                                              {"SpecialToken": {"id": "</s>", "type_id": 0}}],
         "special_tokens": {"<s>": {"id": "<s>", "ids": [1, 1], "tokens": ["<s>", "<s>"]},
                            "</s>": {"id": "</s>", "ids": [2], "tokens": ["</s>"]}}}]}}


def random_string(rng):
    parts = []
    for _ in range(rng.randrange(1, 30)):
        chance = rng.random()
        pool = COMMON if chance < 0.55 else RARE if chance < 0.75 else PIECES
        parts.append(rng.choice(pool))
    return "".join(parts)


def measure(change, rng):
    merged = {**BASE, **change, "model": {**BASE["model"], **change.get("model", {})}}
    tokenizer = Tokenizer.from_str(json.dumps(merged))
    strings = [random_string(rng) for _ in range(STRINGS)]
    ids = [tokenizer.encode(string).ids for string in strings]
    texts = [tokenizer.decode(row, skip_special_tokens=True) for row in ids]
    return {"change": change, "strings": strings, "ids": ids, "texts": texts}


def main():
    rng = random.Random(7)
    made = {name: measure(change, rng) for name, change in variants()}
    lines = [f"{json.dumps(name)}: {json.dumps(made[name], separators=(',', ':'))}" for name in made]
    head = f'"madeBy": "tokenizers {__version__}"'
    text = "{\n" + head + ',\n"variants": {\n' + ",\n".join(lines) + "\n}\n}\n"
    (ROOT / "test/unit/text/variants.json").write_text(text)


main()
