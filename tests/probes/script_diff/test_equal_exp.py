"""A quotient by an exponential is a product with the exponential of the negative."""

from __future__ import annotations

from pathlib import Path

import pytest

from .._pairs import present

SPREAD = """
import torch
from torch import nn
net = nn.Linear(8, 2)
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(9):
    for x, y in loader:
        mean, spread = net(x).unbind(1)
        loss = (0.5 * (y - mean) ** 2 / spread.exp() + 0.5 * spread).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
"""


@pytest.mark.parametrize(
    ("new", "told"),
    [
        ("* torch.exp(-spread)", False),
        ("* (-spread).exp()", False),
        ("/ torch.exp(spread)", False),
        ("* spread.exp()", True),
        ("/ (-spread).exp()", True),
    ],
)
def test_divided_by_an_exponential(tmp_path: Path, new: str, told: bool) -> None:
    found = {s for s in present(tmp_path, SPREAD.replace("/ spread.exp()", new), SPREAD) if "edit-" in s}
    assert bool(found) is told
