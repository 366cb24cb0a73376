"""A sample taken for a step, vectors scaled along the batch by way of a name, a mean divided too early."""

from __future__ import annotations

import pytest

from .._scripts import state

FLOW = """
import torch
from torch import nn
import torch.nn.functional as F
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(4, 8, 2, batch_first=True)
        self.head = nn.Linear(8, 3)
    def forward(self, x):
        out, _ = self.rnn(x)
        z = self.head(out[:, -1])
        return F.normalize(z, dim=1)
class Rows(torch.utils.data.Dataset):
    def __init__(self, rows, mean, std):
        self.rows = (rows - mean) / std
    def __getitem__(self, i):
        return torch.from_numpy(self.rows[i])
"""
WRONG = [
    ("script-axis-wrong", "out[:, -1]", "out[-1]"),
    ("script-axis-wrong", "F.normalize(z, dim=1)", "F.normalize(z, dim=0)"),
    ("script-range-mismatch", "(rows - mean) / std", "rows - mean / std"),
    ("script-range-mismatch", "(rows - mean) / std", "rows - train_mean / train_std"),
]
RIGHT = [
    ("", ""),
    (
        "out, _ = self.rnn(x)\n        z = self.head(out[:, -1])",
        "_, (h, c) = self.rnn(x)\n        z = self.head(h[-1])",
    ),
    ("out[:, -1]", "out.transpose(0, 1)[-1]"),
    ("out[:, -1])", "out[-1])\n        # steps first"),
    ("F.normalize(z, dim=1)", "F.normalize(z, dim=-1)"),
    ("(rows - mean) / std", "rows / std - mean / std"),
    ("(rows - mean) / std", "rows - (mean / std)"),
    ("(rows - mean) / std", "rows - mean / count"),
]
SYMPTOMS = ("script-axis-wrong", "script-range-mismatch")


@pytest.mark.parametrize(("symptom", "old", "new"), WRONG)
def test_slips_are_found(symptom: str, old: str, new: str) -> None:
    assert FLOW.count(old) == 1
    assert state(symptom, FLOW.replace(old, new)) == "present"


@pytest.mark.parametrize(("old", "new"), RIGHT)
def test_right_programs_are_left_alone(old: str, new: str) -> None:
    assert not old or FLOW.count(old) == 1
    text = FLOW.replace(old, new) if old else FLOW
    if "# steps first" in text:
        text = text.replace(", batch_first=True", "")
    for symptom in SYMPTOMS:
        assert state(symptom, text) != "present", symptom


def test_nothing_to_judge() -> None:
    assert [state(s, "import torch\nprint(torch.ones(3))\n") for s in SYMPTOMS] == ["unknown"] * 2
