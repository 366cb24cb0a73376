"""Knitting instructions as a little language, and a tokenizer by words."""
import random

import torch

STITCHES = ["k", "p", "yo", "k2tog", "ssk", "sl1", "m1", "c4f", "c4b"]
YARNS = ["wool", "cotton", "mohair", "alpaca"]


def motif(rnd):
    kind = rnd.choices(["rib", "lace", "cable", "moss"], [4, 3, 2, 2])[0]
    a = rnd.randint(1, 4)
    if kind == "rib":
        return f"k {a} p {a}"
    if kind == "lace":
        return f"yo k2tog k {a}" if rnd.random() < 0.6 else f"k {a} ssk yo"
    if kind == "cable":
        return f"p {a} {rnd.choice(['c4f', 'c4b'])} p {a}"
    return "k 1 p 1"


def pattern(rnd):
    """A pattern of three rows; even rows repeat the motif of the first, turned inside out."""
    lines = [f"yarn {rnd.choice(YARNS)}"]
    first = motif(rnd)
    back = " ".join({"k": "p", "p": "k"}.get(w, w) for w in first.split())
    times = rnd.randint(2, 6)
    for row in range(1, 4):
        body = first if row % 2 else back
        edge = rnd.choice(["sl1", "k 1"]) if rnd.random() < 0.7 else ""
        lines.append(f"row {row} : {edge} * {body} * rep {times}")
    return " ; ".join(lines) + " ; bind off"


def corpus(n, seed):
    rnd = random.Random(seed)
    return [" ".join(pattern(rnd).split()) for _ in range(n)]


class WordTokenizer:
    pad, bos, eos, unk = 0, 1, 2, 3

    def __init__(self, texts):
        words = sorted({w for text in texts for w in text.split()})
        self.index = {w: i for i, w in enumerate(["<pad>", "<bos>", "<eos>", "<unk>", *words])}

    def __len__(self):
        return len(self.index)

    def encode(self, text, limit):
        ids = [self.bos] + [self.index.get(w, self.unk) for w in text.split()] + [self.eos]
        return ids[:limit]


class PatternDataset(torch.utils.data.Dataset):
    def __init__(self, texts, tokenizer, limit):
        self.rows = [tokenizer.encode(t, limit) for t in texts]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return {"input_ids": self.rows[i]}


class Collator:
    def __init__(self, pad):
        self.pad = pad

    def __call__(self, features):
        longest = max(len(f["input_ids"]) for f in features)
        ids = torch.full((len(features), longest), self.pad)
        for row, f in zip(ids, features):
            row[: len(f["input_ids"])] = torch.tensor(f["input_ids"])
        mask = (ids != self.pad).long()
        labels = ids.masked_fill(mask == 0, -100)
        return {"input_ids": ids, "attention_mask": mask, "labels": labels}
