"""Edits of tables, parts and what only an evaluation reads: the kind each is told as, or that none is."""

from __future__ import annotations

import pytest

from traindoctor.engine.model import RunInfo
from traindoctor.probes.code.against.edits import UNCLEAR, compare, sorted_out
from traindoctor.probes.run import Run

PROGRAM = """
import numpy as np
import pandas as pd
import torch
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import GroupKFold
from torch import nn

frame = pd.read_csv("ice.csv")
frame["before"] = frame["ice"].shift(3)
frame["mean"] = frame["ice"].rolling(14).mean()
x = frame.drop(columns=["frozen", "farm"]).to_numpy()
y, farm = frame["frozen"].to_numpy(), frame["farm"].to_numpy()
for fold, (fit, held) in enumerate(GroupKFold(5).split(x, y, farm)):
    mean, std = x[fit].mean(0), x[fit].std(0)
    xf = torch.from_numpy((x[fit] - mean) / std).float()
    xh = torch.from_numpy((x[held] - mean) / std).float()
    yf = torch.from_numpy(y[fit])
    weight = torch.tensor([len(fit) / (2 * (y[fit] == c).sum()) for c in (0, 1)])
    torch.manual_seed(fold)
    head = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 2))
    opt = torch.optim.Adam(head.parameters())
    loss_of = nn.CrossEntropyLoss(weight=weight)
    for epoch in range(30):
        for rows in torch.randperm(len(xf)).split(64):
            opt.zero_grad()
            loss_of(head(xf[rows]), yf[rows]).backward()
            opt.step()
    with torch.no_grad():
        guess = head(xh).argmax(1).numpy()
    print(fold, balanced_accuracy_score(y[held], guess))
"""

CASES = {
    "groups are parted": ("split", "GroupKFold(5)", "KFold(5, shuffle=True, random_state=0)"),
    "held rows as they are": (
        "statistics-fitted-apart",
        "torch.from_numpy((x[held] - mean) / std)",
        "torch.from_numpy(x[held])",
    ),
    "figures of all rows": (
        "statistics-fitted",
        "mean, std = x[fit].mean(0), x[fit].std(0)",
        "mean, std = x.mean(0), x.std(0)",
    ),
    "weights turned": (
        "loss-weight",
        "len(fit) / (2 * (y[fit] == c).sum())",
        "2 * (y[fit] == c).sum() / len(fit)",
    ),
    "from the days to come": ("target-in-inputs", 'frame["ice"].shift(3)', 'frame["ice"].shift(-3)'),
    "the mean looks ahead": ("target-in-inputs", "rolling(14)", "rolling(14, center=True)"),
    "the answer stays in": ("target-in-inputs", '["frozen", "farm"]', '["farm"]'),
}


def _kinds(old: str, new: str, program: str = PROGRAM) -> set[str]:
    assert program.count(old) == 1, old

    def run(script: str) -> Run:
        return Run(RunInfo("run"), {}, (), {}, (), (), {}, scripts={"train.py": script})

    found = sorted_out(compare(run(program.replace(old, new)), run(program)))
    return {kind for kind, edits in found.items() if edits}


@pytest.mark.parametrize("name", CASES)
def test_edits_of_rows(name: str) -> None:
    """Each edit is of the kind that says what it does to the rows."""
    kind, old, new = CASES[name]
    assert _kinds(old, new) == {kind}


TEXTS = """
import keras
import pandas as pd

log = pd.read_csv("log.csv")
edge = log["day"].quantile(0.8)
train = log[log["day"] <= edge]
held = log[log["day"] > edge]


class Entries(keras.utils.PyDataset):
    def __init__(self, rows, mixed=False):
        self.rows, self.mixed = rows, mixed


model = keras.Sequential([keras.layers.Dense(4), keras.layers.Dense(2)])
model.compile(optimizer="adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(Entries(train, mixed=True), validation_data=Entries(held), epochs=9)
"""


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("Entries(train, mixed=True)", "Entries(train.sample(frac=1), mixed=True)", "fewer-samples"),
        ("Entries(train, mixed=True)", "Entries(train)", "autocast"),
    ],
)
def test_what_an_edit_is_not(old: str, new: str, kind: str) -> None:
    """All rows in another order are no fewer; samples that are mixed are not computed in mixed precision."""
    assert kind not in _kinds(old, new, TEXTS)


def test_fewer_rows_are_told() -> None:
    assert "fewer-samples" in _kinds("Entries(train, mixed=True)", "Entries(train.head(100))", TEXTS)


def test_chance_instead_of_days_parts_the_rows() -> None:
    """The parts are no longer those of two times, however the lines are written anew."""
    old = 'train = log[log["day"] <= edge]\nheld = log[log["day"] > edge]'
    assert "split" in _kinds(old, "held = log.sample(frac=0.2)\ntrain = log.drop(held.index)", TEXTS)
    assert "split" not in _kinds(
        old, "k = int(0.8 * len(log))\ntrain = log.iloc[:k]\nheld = log.iloc[k:]", TEXTS
    )


ENDS = """
import random
import numpy as np
import torch
from torch import nn

x, y = torch.from_numpy(np.load("x.npy")), torch.from_numpy(np.load("y.npy"))
order = list(range(len(x)))
random.shuffle(order)
n = len(order)
k = n // 5
fit = order[k:]
held = order[:k]
model = nn.Linear(9, 2)
opt = torch.optim.Adam(model.parameters())
for epoch in range(30):
    for i in range(0, len(fit), 32):
        rows = fit[i : i + 32]
        opt.zero_grad()
        nn.functional.cross_entropy(model(x[rows]), y[rows]).backward()
        opt.step()
    with torch.no_grad():
        print(epoch, (model(x[held]).argmax(1) == y[held]).float().mean())
"""


def test_two_ends_that_meet_are_two_parts() -> None:
    """Whether the first or the last rows are held out: none is missing, and none stands in both."""
    both = "fit = order[k:]\nheld = order[:k]"
    assert not _kinds(both, "fit = order[: n - k]\nheld = order[n - k :]", ENDS) - {UNCLEAR, ""}
    assert _kinds(both, "fit = order[: n // 50]\nheld = order[:k]", ENDS)


LETTERS = """
import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("gpt2")
model = AutoModelForCausalLM.from_pretrained("gpt2")


def encode(record):
    prompt = tokenizer(record["request"])["input_ids"]
    reply = tokenizer(record["reply"])["input_ids"]
    labels = [-100] * len(prompt) + reply
    return {"input_ids": torch.tensor(prompt + reply), "labels": torch.tensor(labels)}


def collate(rows):
    ids = pad_sequence([r["input_ids"] for r in rows], batch_first=True)
    labels = pad_sequence([r["labels"] for r in rows], batch_first=True, padding_value=-100)
    return {"input_ids": ids, "attention_mask": (ids > 0).long(), "labels": labels}


loader = DataLoader([encode(r) for r in read("letters.json")], batch_size=8, shuffle=True, collate_fn=collate)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5)
for batch in loader:
    optimizer.zero_grad()
    model(**batch).loss.backward()
    optimizer.step()
"""
FILLED = "batch_first=True, padding_value=-100)"
LATER = """batch_first=True, padding_value=0)
    labels = labels.masked_fill(ids == 0, -100)"""


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (FILLED, "batch_first=True, padding_value=0)", True),
        ("[-100] * len(prompt) + reply", "prompt + [-100] * len(reply)", True),
        ("[-100] * len(prompt) + reply", "prompt + reply", True),
        (FILLED, LATER, False),
    ],
)
def test_positions_that_count(old: str, new: str, told: bool) -> None:
    """The mark is gone, or stands in the other part; written by a line of its own it is there."""
    assert ("loss-masking" in _kinds(old, new, LETTERS)) is told
