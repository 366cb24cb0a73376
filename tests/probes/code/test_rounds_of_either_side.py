"""One function for rounds of training and of evaluation: which data the held-out figures are of."""

from __future__ import annotations

import pytest

from .._scripts import state

TEXT = """
import torch
from torch import nn
from torch.utils.data import DataLoader
def run_epoch(net, loader, opt=None):
    net.train(opt is not None)
    total = 0.0
    with torch.set_grad_enabled(opt is not None):
        for x, y in loader:
            loss = nn.functional.cross_entropy(net(x), y)
            if opt is not None:
                opt.zero_grad()
                loss.backward()
                opt.step()
            total += loss.item()
    return total, 1.0
train_loader = DataLoader(train_set, batch_size=8, shuffle=True)
val_loader = DataLoader(val_set, batch_size=8)
net = nn.Linear(4, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(3):
    loss, acc = run_epoch(net, train_loader, opt)
    {SCORED}
    print(loss, acc)
"""


@pytest.mark.parametrize(
    ("scored", "says"),
    [
        ("val_loss, val_acc = run_epoch(net, train_loader)", True),
        ("valid_loss = run_epoch(net, train_loader)[0]", False),  # not followed through an index
        ("test_metrics = run_epoch(net, train_loader)", True),
        ("val_loss, val_acc = run_epoch(net, val_loader)", False),
        ("train_loss, train_acc = run_epoch(net, train_loader)", False),
        ("loss, acc = run_epoch(net, train_loader)", False),
        (
            "val_loss, val_acc = run_epoch(net, train_loader)\n    print(run_epoch(net, val_loader))",
            False,
        ),
    ],
)
def test_figures_of_a_round(scored: str, says: bool) -> None:
    assert (state("script-evaluates-training-data", TEXT.replace("{SCORED}", scored)) == "present") == says


PARTS = """
import torch
from torch import nn
def run_epoch(net, loader, opt=None):
    for i, (x, y) in enumerate(loader):
        if opt is not None:
            {BEFORE}
            (nn.functional.cross_entropy(net(x), y) / 4).backward()
            if (i + 1) % 4 == 0:
                opt.step()
                {AFTER}
"""


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ("opt.zero_grad()", "pass", True),
        ("pass", "opt.zero_grad()", False),
        ("if i % 4 == 0: opt.zero_grad()", "pass", False),
    ],
)
def test_clearing_in_rounds_that_may_train(before: str, after: str, says: bool) -> None:
    text = PARTS.replace("{BEFORE}", before).replace("{AFTER}", after)
    assert (state("script-cleared-between-micro-batches", text) == "present") == says
