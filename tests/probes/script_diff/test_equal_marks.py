"""Labels left out, orders and weights in another spelling beside a benchmark, and what only looks like it."""

from __future__ import annotations

import pytest

from traindoctor.probes.code.against.edits import UNCLEAR, compare, sorted_out
from traindoctor.probes.run import Run, RunInfo

RIGHT = """
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset
NOLABEL = 30
class Rows(Dataset):
    def __init__(self, rows):
        self.rows = rows
    def __len__(self):
        return len(self.rows)
    def __getitem__(self, i):
        return self.rows[i]
def collate(rows):
    longest = max(len(x) for x, _ in rows)
    ids = torch.zeros(len(rows), longest, dtype=torch.long)
    labels = torch.full((len(rows), longest), NOLABEL)
    seen = torch.zeros(len(rows), longest, dtype=torch.bool)
    for k, (x, y) in enumerate(rows):
        y = y.copy()
        y[y < 0] = NOLABEL
        ids[k, : len(x)] = torch.tensor(x)
        labels[k, : len(y)] = torch.tensor(y)
        seen[k, : len(x)] = True
    return ids, labels, seen
model = nn.TransformerEncoder(nn.TransformerEncoderLayer(64, 4, batch_first=True), 2)
embed, head = nn.Embedding(99, 64), nn.Linear(64, 30)
criterion = nn.CrossEntropyLoss(ignore_index=NOLABEL)
optimizer = torch.optim.Adam([*model.parameters(), *embed.parameters(), *head.parameters()], lr=1e-3)
loader = DataLoader(Rows(train_rows), 16, shuffle=True, collate_fn=collate)
for epoch in range(9):
    for ids, labels, seen in loader:
        out = head(model(embed(ids), src_key_padding_mask=~seen))
        loss = criterion(out.flatten(0, 1), labels.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


def _kinds(edits: list[tuple[str, str]]) -> set[str]:
    mine = RIGHT
    for old, new in edits:
        assert mine.count(old) == 1, old
        mine = mine.replace(old, new)
    runs = [Run(RunInfo("run"), {}, (), {}, (), (), {}, scripts={"train.py": text}) for text in (mine, RIGHT)]
    return {k for k, found in sorted_out(compare(*runs)).items() if found} - {"", UNCLEAR}


@pytest.mark.parametrize(
    "edits",
    [
        [("NOLABEL = 30", "NOLABEL = -1")],
        [("y[y < 0] = NOLABEL", "y = np.where(y < 0, NOLABEL, y)")],
        [
            ("longest), NOLABEL)", "longest), -100)"),
            ("y[y < 0] = NOLABEL", "y[y < 0] = -100"),
            ("(ignore_index=NOLABEL)", "()"),
        ],
        [("seen = torch.zeros(", "seen = torch.ones("), ("= True\n", "= False\n"), ("=~seen", "=seen")],
        [("shuffle=True,", "sampler=torch.utils.data.RandomSampler(train_rows),")],
    ],
)
def test_equal_spellings(edits: list[tuple[str, str]]) -> None:
    assert not _kinds(edits)


@pytest.mark.parametrize(
    ("edits", "kind"),
    [
        ([("NOLABEL = 30", "NOLABEL = 29")], "loss-masking"),
        ([("(ignore_index=NOLABEL)", "()")], "loss-masking"),
        ([("shuffle=True,", "sampler=torch.utils.data.SequentialSampler(train_rows),")], "shuffling"),
    ],
)
def test_what_only_looks_equal(edits: list[tuple[str, str]], kind: str) -> None:
    assert kind in _kinds(edits)


APART = [
    (
        "[*model.parameters(), *embed.parameters(), *head.parameters()]",
        "[*model.parameters(), *head.parameters()]",
    ),
    (
        "loader = DataLoader",
        "rows_of = torch.optim.SparseAdam(embed.parameters(), lr=1e-3)\nloader = DataLoader",
    ),
    ("nn.Embedding(99, 64)", "nn.Embedding(99, 64, sparse=True)"),
    ("optimizer.zero_grad()\n", "optimizer.zero_grad()\n        rows_of.zero_grad()\n"),
    ("optimizer.step()\n", "optimizer.step()\n        rows_of.step()\n"),
]


def test_an_optimizer_of_its_own_for_a_part() -> None:
    """What is cleared and stepped with it is no other step; a second step of the same one is."""
    assert not _kinds(APART) & {"update-left-out", "step-order", "output-activation"}
    assert "update-left-out" in _kinds(
        [("optimizer.step()\n", "optimizer.step()\n        optimizer.step()\n")]
    )


@pytest.mark.parametrize(("batch", "steps", "told"), [(16, 800, False), (64, 200, True), (16, 3000, True)])
def test_more_steps_of_fewer_samples(batch: int, steps: int, told: bool) -> None:
    """As many samples as in the benchmark are no longer training."""
    text = "BATCH_SIZE = {}\nSTEPS = {}\n" + RIGHT.replace(
        "for epoch in range(9):", "for epoch in range(STEPS):"
    )
    text = text.replace("train_rows), 16,", "train_rows), BATCH_SIZE,")
    bench, mine = text.replace("{}", "64", 1).replace("{}", "200", 1), text
    mine = mine.replace("{}", str(batch), 1).replace("{}", str(steps if steps != 200 else 600), 1)
    runs = [Run(RunInfo("run"), {}, (), {}, (), (), {}, scripts={"train.py": t}) for t in (mine, bench)]
    kinds = {k for k, found in sorted_out(compare(*runs)).items() if found}
    assert ("length-raised" in kinds) is told
