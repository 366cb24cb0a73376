"""Bounds of clipping that no gradient reaches, and clipping beside other blocks: present, absent, unknown."""

from __future__ import annotations

import pytest

from .._scripts import state

P, A = "present", "absent"
LOOP = """
import torch
from rows import loader
net = torch.nn.Linear(4, 2)
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
class Settings:
    bound = {BOUND}
def trainer(model, clip):
    def step(x, y):
        opt.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        {CLIP}
        with torch.no_grad():
            seen.add_(len(x))
    return step
run = trainer(net, clip={BOUND})
for epoch in range(10):
    for x, y in loader:
        run(x, y)
"""
USUAL = "torch.nn.utils.clip_grad_norm_(model.parameters(), clip)\n        opt.step()"


@pytest.mark.parametrize(
    ("bound", "clip", "wanted"),
    [
        ("1.0", USUAL, A),
        ("100", USUAL, A),
        ("1e6", USUAL, P),
        ("1e6", USUAL.replace("clip)", "max_norm=Settings.bound)"), P),
        ("1e6", "norm = " + USUAL, A),  # the norm is what is wanted
        ("1e5", USUAL.replace("clip_grad_norm_", "clip_grad_value_"), P),
        ("1.0", "opt.step()\n        torch.nn.utils.clip_grad_norm_(model.parameters(), clip)", P),
    ],
)
def test_bounds(bound: str, clip: str, wanted: str) -> None:
    text = LOOP.replace("{BOUND}", bound).replace("{CLIP}", clip)
    assert (state("script-clip-without-effect", text) == P) == (wanted == P)
