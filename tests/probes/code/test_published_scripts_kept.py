"""What modules keep beside their weights, in published scripts: tables, memories, states."""

from __future__ import annotations

import pytest

from .._scripts import state

CUT = """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self, d, n):
        super().__init__()
        self.seen = []
        self.places = {places}
        self.places = self.places.unsqueeze(0)
        self.body = nn.Linear(d, d)
    def forward(self, x):
        h = self.body(x)
        {line}
        return h
net = Net(8, 16)
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for x, y in loader:
    opt.zero_grad()
    loss = nn.functional.mse_loss(net(x), y)
    loss.backward()
    opt.step()
"""
TABLE, WEIGHTS = "torch.zeros(n, d)", "nn.Parameter(torch.zeros(n, d))"
ADDED = "h = h + self.places[:, :x.size(1)].detach()"


@pytest.mark.parametrize(
    ("places", "line", "expected"),
    [
        (TABLE, ADDED, False),
        (WEIGHTS, ADDED, True),
        (TABLE, "self.seen.append(h.detach())", False),
        (TABLE, "h = h.detach()", True),
    ],
)
def test_what_has_no_gradient_anyway_is_not_cut(places: str, line: str, expected: bool) -> None:
    text = CUT.format(places=places, line=line)

    assert (state("script-gradient-path-cut", text) == "present") is expected


STATES = """
import torch
from torch import nn
class Memory(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.read = nn.Linear(d, d)
        self.params = nn.ParameterDict({{"read_weights": nn.Parameter(torch.randn(d, d))}})
    def reset(self, hidden):
        {}.data.zero_()
        return hidden
    def forward(self, x, hidden):
        return self.read(x) + hidden["read_weights"] @ self.params["read_weights"]
"""


def test_a_state_begins_at_zero() -> None:
    assert state("script-zero-init", STATES.format('hidden["read_weights"]')) != "present"


BENCH = """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 8)
    def forward(self, x):
        return self.body(x)
{outside}
def run(batch_size, n_steps):
    {inside}
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    for step in range(n_steps):
        loss = net(torch.randn(batch_size, 8)).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()
for batch_size in (1, 8, 32):
    result = run(batch_size, 20)
    print(batch_size, result)
"""


def test_each_experiment_has_an_optimizer_and_a_model() -> None:
    right, wrong = (
        BENCH.format(outside="", inside="net = Net()"),
        BENCH.format(outside="net = Net()", inside="pass"),
    )

    assert state("script-optimizer-rebuilt", right) != "present"
    assert state("script-optimizer-rebuilt", wrong) == "present"


@pytest.mark.parametrize("wrapper", ["nn.DataParallel", "nn.parallel.DistributedDataParallel"])
def test_a_model_is_wrapped_after_its_optimizer_was_built(wrapper: str) -> None:
    """The wrapper holds the same weights."""
    text = f"""
import torch
from torch import nn
from torch.utils.data import DataLoader
model = nn.Linear(8, 1)
opt = torch.optim.AdamW(model.parameters(), lr=3e-5)
model = {wrapper}(model)
for x, y in DataLoader(rows, batch_size=8, shuffle=True):
    loss = nn.functional.mse_loss(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
"""

    assert state("script-part-not-trained", text) != "present"
