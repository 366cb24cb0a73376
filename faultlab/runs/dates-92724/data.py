"""Human date strings and their ISO form (basic: yyyymmdd)."""

import datetime as dt
import random
import re

import torch

PAD, BOS, EOS, UNK = 0, 1, 2, 3
NAMES = [dt.date(2001, m, 1).strftime(f).lower() for f in ("%B", "%b") for m in range(1, 13)]
NAMES += [dt.date(2001, 1, d).strftime("%A").lower() for d in range(1, 8)]
SYMBOLS = [*"0123456789", *"',-./", "th", "st", "nd", "rd", "the", "of", *dict.fromkeys(NAMES)]
IDS = {s: i + 4 for i, s in enumerate(SYMBOLS)}
VOCAB = len(IDS) + 4

FORMATS = ["{d} {month} {y}", "{month} {d}, {y}", "{day}, {d} {mon} {y}", "{d:02}/{m:02}/{y}", "{y}.{m}.{d}",
           "{d}-{mon}-{yy:02}", "{mon} {d} '{yy:02}", "the {d}{th} of {month} {y}", "{d:02}.{m:02}.{yy:02}",
           "{m}/{d}/{yy:02}"]  # the last but one and the last cannot always be told apart, as in real mail
WEIGHTS = [5, 4, 4, 4, 3, 2, 2, 2, 2, 0.4]


def make_pair(rng):
    date = dt.date(1970, 1, 1) + dt.timedelta(days=rng.randrange(20000))
    th = "th" if 10 < date.day < 14 else {1: "st", 2: "nd", 3: "rd"}.get(date.day % 10, "th")
    human = rng.choices(FORMATS, WEIGHTS)[0].format(
        d=date.day, m=date.month, y=date.year, yy=date.year % 100, th=th,
        month=date.strftime("%B"), mon=date.strftime("%b"), day=date.strftime("%A"),
    )
    human = human.lower()
    if rng.random() < 0.05:  # a typing error
        i = rng.randrange(len(human))
        human = human[:i] + human[i + 1:]
    return human, date.strftime("%Y%m%d")


def make_pairs(n, seed):
    rng = random.Random(seed)
    return [make_pair(rng) for _ in range(n)]


def encode(text):
    return [BOS] + [IDS.get(s, UNK) for s in re.findall(r"[a-z]+|\S", text)] + [EOS]


def collate(pairs):
    """Padded ids of the sources (B, S) and of the targets (B, T)."""
    columns = []
    for texts in zip(*pairs):
        rows = [torch.tensor(encode(t)) for t in texts]
        columns.append(torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PAD))
    return columns
