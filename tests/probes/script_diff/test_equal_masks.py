"""What a mask names is filled, and extremes are taken, in several ways that are one."""

from __future__ import annotations

from pathlib import Path

import pytest

from .._pairs import edits

RIGHT = """
import torch
from torch import nn
import torch.nn.functional as F
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(100, 32)
        self.gru = nn.GRU(32, 32, batch_first=True)
        self.head = nn.Linear(32, 5)
    def forward(self, ids):
        states, _ = self.gru(self.emb(ids))
        h = states.max(dim=1).values
        return self.head(h)
def collate(rows):
    ids = torch.stack([r[0] for r in rows])
    mask = torch.stack([r[1] for r in rows])
    labels = ids.masked_fill(mask == 0, -100)
    return ids, mask, labels
model = Net()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(10):
    for ids, mask, labels in loader:
        opt.zero_grad()
        loss = F.cross_entropy(model(ids), labels[:, 0], ignore_index=-100)
        loss.backward()
        opt.step()
"""
POOLED, FILLED = "states.max(dim=1).values", "ids.masked_fill(mask == 0, -100)"


def told(folder: Path, old: str, new: str) -> set[str]:
    return edits(folder, RIGHT.replace(old, new), RIGHT)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (POOLED, "states.amax(dim=1)"),
        (POOLED, "states.max(1)[0]"),
        (POOLED, "torch.max(states, 1)[0]"),
        (FILLED, "torch.where(mask.bool(), ids, -100)"),
        (FILLED, "torch.where(mask == 0, torch.full_like(ids, -100), ids)"),
        (FILLED, "torch.where(mask != 0, ids, torch.tensor(-100))"),
        (FILLED, "ids.masked_fill(~mask.bool(), -100)"),
    ],
)
def test_another_spelling_is_no_edit(tmp_path: Path, old: str, new: str) -> None:
    assert not told(tmp_path, old, new)


@pytest.mark.parametrize(
    ("old", "new", "symptom"),
    [
        (POOLED, "states.mean(dim=1)", "edit-pooling"),
        (POOLED, "states.amin(dim=1)", "edit-pooling"),
        (POOLED, "states.amax(dim=2)", "edit-axis"),
        (FILLED, "torch.where(mask == 0, ids, -100)", "edit-loss-masking"),
        (FILLED, "torch.where(mask.bool(), ids, 0)", "edit-loss-masking"),
        (FILLED, "ids.masked_fill(mask.bool(), -100)", "edit-loss-masking"),
    ],
)
def test_a_slip_beside_it_is_told(tmp_path: Path, old: str, new: str, symptom: str) -> None:
    assert symptom in told(tmp_path, old, new)
