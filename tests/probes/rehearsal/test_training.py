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


WRAPPED = """
import torch
import someone
from torch import nn

class Worker:
    def __init__(self):
        self.net = nn.Linear(8, 2)
        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.1)
        {WRAP}

    def train(self):
        rows = torch.utils.data.TensorDataset(torch.randn(64, 8), torch.randn(64, 2))
        for x, y in torch.utils.data.DataLoader(rows, 8):
            self.opt.zero_grad()
            nn.functional.mse_loss(self.net(x), y).backward()
            self.opt.step()

Worker().train()
"""


@pytest.mark.parametrize(
    ("wrap", "known"),
    [
        ("self.net = self.net.with_someone([self.opt], 3)", True),
        ("self.net, self.opt = someone.initialize(self.net, self.opt)", True),
        ("self.net = someone.quicker(self.net)", True),
        ("self.net = someone.made()", False),
    ],
)
def test_what_comes_back_under_its_name_is_the_same(wrap: str, known: bool) -> None:
    machine = rehearsal(WRAPPED.replace("{WRAP}", wrap))

    assert learns(machine.journal) is known
    assert not known or machine.optimizers[0].escaped or "self.opt" not in wrap


OF_A_LIBRARY = """
import torch
import someone
from torch import nn

net = someone.Model.from_pretrained("small").to("cuda")
{THEN}
opt = torch.optim.AdamW(net.parameters(), lr=1e-4)

def train(net, loader):
    net.train()
    for x, y in loader:
        opt.zero_grad()
        nn.functional.mse_loss(net(x), y).backward()
        opt.step()

rows = torch.utils.data.TensorDataset(torch.randn(64, 8), torch.randn(64, 2))
train(net, torch.utils.data.DataLoader(rows, 8))
"""


@pytest.mark.parametrize("then", ["", "net = nn.DataParallel(net)", "net = someone.wrapped(net)"])
def test_what_gives_parameters_is_a_network(then: str) -> None:
    machine = rehearsal(OF_A_LIBRARY.replace("{THEN}", then))

    assert learns(machine.journal)
    assert all(w.trains for o in machine.optimizers for w in o.weights or ())
