"""What readers, batches and samplers of one's own do to samples: torn, numbered, marked, fed and ordered."""

from __future__ import annotations

import ast

import pytest

from traindoctor.probes.code.labels.own_tables import levels_of_each_part
from traindoctor.probes.code.labels.tags import tags_off_by_a_mark
from traindoctor.probes.code.labels.together import one_part_reordered
from traindoctor.probes.code.loss.likelihood_arguments import rate_of_wrong_kind
from traindoctor.probes.code.method.own_answer_fed import (
    batch_gives_answer_twice,
    entry_gives_answer_twice,
)
from traindoctor.probes.code.samples.asked import shuffle_switched_off
from traindoctor.probes.scripts.syntax import Script

from .._scripts import state


def script(text: str) -> Script:
    return Script("train.py", text, ast.parse(text))


BATCHES = """
import torch
def batches(part, size, mix):
    kinds, sizes, days = part
    if mix:
        {MIX}
    for at in range(0, len(days), size):
        i = torch.arange(at, min(at + size, len(days)))
        yield kinds[i], sizes[i], days[i]
"""


@pytest.mark.parametrize(
    ("mix", "torn"),
    [
        ("p = torch.randperm(len(days)); kinds, sizes = kinds[p], sizes[p]", True),
        ("p = torch.randperm(len(days))\n        sizes = sizes[p]", True),
        ("p = torch.randperm(len(days)); kinds, sizes, days = kinds[p], sizes[p], days[p]", False),
        ("p = torch.randperm(len(days)); kinds, sizes = kinds[p], sizes[p]; days = days[p]", False),
        ("days = days.float()", False),
    ],
)
def test_a_part_of_a_batch_in_another_order(mix: str, torn: bool) -> None:
    found = one_part_reordered(script(BATCHES.replace("{MIX}", mix)))
    assert (found is not None and found.state.value == "present") == torn


LEVELS = """
class Rows:
    def __init__(self, path, levels=None):
        rows = read(path)
        {MADE}
        self.x = [self.levels.index(r["hub"]) for r in rows]
train = Rows("train.csv")
valid = Rows("valid.csv"{VALID})
test = Rows("test.csv"{TEST})
"""
_COMING = 'self.levels = levels or list(dict.fromkeys(r["hub"] for r in rows))'
_SORTED = (
    'if levels is None:\n            levels = sorted({r["hub"] for r in rows})\n        self.levels = levels'
)


@pytest.mark.parametrize(
    ("made", "valid", "test", "sick"),
    [
        (_COMING, "", "", True),
        (_SORTED, ", train.levels", "", True),
        (_SORTED, "", ", levels=train.levels", True),
        (_SORTED, "", "", False),
        (_COMING, ", train.levels", ", train.levels", False),
        ("self.levels = levels or LEVELS", "", "", False),
    ],
)
def test_levels_of_each_part(made: str, valid: str, test: str, sick: bool) -> None:
    text = LEVELS.replace("{MADE}", made).replace("{VALID}", valid).replace("{TEST}", test)
    assert (levels_of_each_part(script(text)) is not None) == sick


TAGS = """
class Sentences:
    def __getitem__(self, i):
        row = self.rows[i]
        ids = {IDS}
        labels = {LABELS}
        return ids, labels
"""
_IDS = '[2] + [vocab.get(w, 1) for w in row["words"]] + [3]'


@pytest.mark.parametrize(
    ("ids", "labels", "sick"),
    [
        (_IDS, '[names[t] for t in row["tags"]] + [-100, -100]', True),
        (_IDS, '[-100, -100, *[names[t] for t in row["tags"]]]', True),
        (_IDS, '[-100] + [names[t] for t in row["tags"]] + [-100]', False),
        (_IDS, '[vocab.get(w, 1) for w in row["words"]] + [3, -100]', False),
        (_IDS, '[names[t] for t in row["tags"]] + [3, 0]', False),
    ],
)
def test_tags_off_by_a_mark(ids: str, labels: str, sick: bool) -> None:
    text = TAGS.replace("{IDS}", ids).replace("{LABELS}", labels)
    assert (tags_off_by_a_mark(script(text)) is not None) == sick


SPEECH = """
import torch
from torch import nn
from torch.nn import functional as F
def collate(rows):
    src, tgt = map(pad, zip(*rows))
    start = torch.ones(len(rows), 1).long()
    return {GIVEN}
class Speaks(nn.Module):
    def forward(self, src, told):
        return self.out(self.say(self.table({TOLD}), self.read(src)))
net = Speaks()
opt = torch.optim.Adam(net.parameters())
for i, (src, told, tgt) in enumerate(loader):
    opt.zero_grad()
    loss = F.cross_entropy(net(src, told).transpose(1, 2), tgt, ignore_index=0)
    loss.backward()
    opt.step()
"""


@pytest.mark.parametrize(
    ("given", "told", "sick"),
    [
        ("src, tgt, tgt", "told", True),
        ("src, torch.cat([start, tgt[:, :-1]], 1), tgt", "told", False),
        ("src, tgt, tgt", "F.pad(told, (1, 0))[:, :-1]", False),
        ("src, src, tgt", "told", False),
    ],
)
def test_a_batch_gives_the_answer_twice(given: str, told: str, sick: bool) -> None:
    text = SPEECH.replace("{GIVEN}", given).replace("{TOLD}", told)
    assert (batch_gives_answer_twice(script(text)) is not None) == sick


@pytest.mark.parametrize(("fed", "sick"), [("ids", True), ("shift(ids)", False), ("others", False)])
def test_an_entry_gives_the_answer_twice(fed: str, sick: bool) -> None:
    text = f"def prepare(ids, others):\n    return {{'decoder_input_ids': {fed}, 'labels': ids}}\n"
    assert (entry_gives_answer_twice(script(text)) is not None) == sick


CLIPS = """
import keras
import numpy as np
class Clips(keras.utils.PyDataset):
    def __init__(self, x, y, size, shuffle=True):
        super().__init__()
        self.x, self.y, self.size, self.shuffle = x, y, size, shuffle
        self.order = np.arange(len(x))
    def __getitem__(self, i):
        at = self.order[i * self.size : (i + 1) * self.size]
        return self.x[at], self.y[at]
    def on_epoch_end(self):
        if self.shuffle:
            np.random.shuffle(self.order)
model = keras.Sequential([keras.layers.Dense(5, activation="softmax")])
model.compile("adam", "sparse_categorical_crossentropy")
{FIT}
"""


@pytest.mark.parametrize(
    ("fit", "sick"),
    [
        ("model.fit(Clips(x, y, 32, shuffle=False), epochs=9)", True),
        ("a = Clips(x, y, 32, shuffle=False)\nmodel.fit(a, validation_data=(u, v))", True),
        ("model.fit(Clips(x, y, 32), validation_data=Clips(u, v, 32, shuffle=False))", False),
        ("p = np.random.permutation(len(x))\nmodel.fit(Clips(x[p], y[p], 32, shuffle=False))", False),
    ],
)
def test_a_sequence_that_is_told_not_to_shuffle(fit: str, sick: bool) -> None:
    assert (shuffle_switched_off(script(CLIPS.replace("{FIT}", fit))) is not None) == sick


EMPTY = """
import csv
import numpy as np
import torch
with open("train.csv") as f:
    rows = list(csv.DictReader(f))
x = torch.tensor([[{FIELD} for c in COLUMNS] for r in rows])
{THEN}
"""


@pytest.mark.parametrize(
    ("field", "then", "fires"),
    [
        ('float(r[c] or "nan")', "", True),
        ('float(r[c]) if r[c] else float("nan")', "", True),
        ('float(r[c] or "nan")', "x = torch.nan_to_num(x)", False),
        ('float(r[c] or "0")', "", False),
    ],
)
def test_empty_fields_read_as_nan(field: str, then: str, fires: bool) -> None:
    text = EMPTY.replace("{FIELD}", field).replace("{THEN}", then)
    assert (state("script-nan-written", text) == "present") == fires


RATES = """
import torch
from torch import nn
class Counts(nn.Module):
    def __init__(self):
        super().__init__()
        self.end = nn.Linear(8, 1)
    def forward(self, x):
        return {GIVES}
net = Counts()
lossf = nn.PoissonNLLLoss(log_input=False)
for x, years, y in loader:
    said = net(x)
    loss = lossf(said * years, y)
    loss.backward()
"""


@pytest.mark.parametrize(
    ("gives", "sick"), [("self.end(x).squeeze(1)", True), ("torch.exp(self.end(x)).squeeze(1)", False)]
)
def test_a_rate_times_an_exposure(gives: str, sick: bool) -> None:
    assert (rate_of_wrong_kind(script(RATES.replace("{GIVES}", gives))) is not None) == sick
