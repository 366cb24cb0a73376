"""A model of another size is no attention of another scale."""

from __future__ import annotations

import pytest

from traindoctor.engine.load import load_rules
from traindoctor.probes.readings import all_probes
from traindoctor.probes.registry import View, read
from traindoctor.probes.run import Run, RunInfo

TEXT = """
import torch
from torch import nn
WIDTH = 64
CONFIG = {"n_layers": 2, "n_heads": 4, "lr": 0.01}
class Attention(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.heads, self.scale = heads, 0.25
        self.qkv = nn.Linear(d, 3 * d)
    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        scores = q @ k.transpose(1, 2) / (q.shape[-1] ** 0.5)
        return torch.softmax(scores * self.scale, -1) @ v
class Net(nn.Module):
    def __init__(self, d, layers, heads):
        super().__init__()
        self.layers = nn.ModuleList([Attention(d, heads) for _ in range(layers)])
        self.head = nn.Linear(d, 9)
    def forward(self, x):
        for layer in self.layers:
            x = x + layer(x)
        return self.head(x)
net = Net(WIDTH, CONFIG["n_layers"], CONFIG["n_heads"])
opt = torch.optim.Adam(net.parameters(), lr=CONFIG["lr"])
for x, y in loader:
    opt.zero_grad()
    loss = nn.functional.cross_entropy(net(x).flatten(0, 1), y.flatten())
    loss.backward()
    opt.step()
"""


def _run(text: str) -> Run:
    return Run(RunInfo("run"), {}, (), {}, (), (), {}, scripts={"train.py": text})


@pytest.mark.parametrize(
    ("old", "new", "tells"),
    [
        ("WIDTH = 64", "WIDTH = 48", False),
        ('"n_layers": 2', '"n_layers": 3', False),
        ('"n_heads": 4', '"n_heads": 8', False),
        ("Net(WIDTH", "Net(48", False),
        (" / (q.shape[-1] ** 0.5)", "", True),
        ("** 0.5)", "** 2.0)", True),
    ],
)
def test_sizes_and_scales(old: str, new: str, tells: bool) -> None:
    rules, view = load_rules(), View(_run(TEXT.replace(old, new)), _run(TEXT))
    kinds = ("edit-attention-scale", "edit-scores-scale")
    states = [read(view, rules.symptoms[s], all_probes()).state.value for s in kinds]
    assert ("present" in states) == tells, states
