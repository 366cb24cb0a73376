"""Optimizers of libraries that nobody registered."""

from __future__ import annotations

import pytest

from ._journals import learns, rehearsal

STEPS = """
import torch
import someone
from torch import nn

net = nn.Linear(8, 2)
opt = {MADE}
rows = torch.utils.data.TensorDataset(torch.randn(64, 8), torch.randn(64, 2))
for x, y in torch.utils.data.DataLoader(rows, 8):
    opt.zero_grad()
    nn.functional.mse_loss(net(x), y).backward()
    opt.step()
"""


@pytest.mark.parametrize(
    ("made", "known"),
    [
        ("someone.AdamWScheduleFree(net.parameters(), lr=1e-3)", True),
        ("someone.Anything([{'params': net.parameters()}], lr=1e-3)", True),
        ("someone.Anything(net.parameters())", False),  # no rate: an average of the weights, perhaps
        ("someone.Anything(unknown(), lr=1e-3)", False),
    ],
)
def test_a_class_of_any_library_that_takes_weights_and_a_rate(made: str, known: bool) -> None:
    assert learns(rehearsal(STEPS.replace("{MADE}", made)).journal) is known
