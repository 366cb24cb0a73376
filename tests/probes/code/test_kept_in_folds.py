"""The best weights of each fold: a net of the fold is one net in all its epochs."""

from __future__ import annotations

import pytest

from .._scripts import state

FOLDS = """
import copy
import torch
from torch import nn
from sklearn.model_selection import KFold
for fold, (tr, va) in enumerate(KFold(4).split(x)):
    net = nn.Linear(8, 3)
    opt = torch.optim.Adam(net.parameters(), 1e-3)
    best, best_state = float("inf"), None
    for epoch in range(20):
        net.train()
        for i in torch.tensor(tr).split(32):
            loss = nn.functional.cross_entropy(net(x[i]), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
        net.eval()
        with torch.no_grad():
            val_loss = nn.functional.cross_entropy(net(x[va]), y[va]).item()
        if val_loss < best:
            best, best_state = val_loss, {KEPT}
    net.load_state_dict(best_state)
    torch.save(net.state_dict(), f"{fold}.pt")
"""
GRID = """
import torch
from torch import nn
best, best_state = float("inf"), None
for lr in (1e-2, 1e-3):
    net = nn.Linear(8, 3)
    opt = torch.optim.Adam(net.parameters(), lr)
    for epoch in range(20):
        for x, y in loader:
            loss = nn.functional.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
    val_loss = check(net)
    if val_loss < best:
        best, best_state = val_loss, net.state_dict()
net = nn.Linear(8, 3)
net.load_state_dict(best_state)
"""


@pytest.mark.parametrize(
    ("kept", "wrong"),
    [
        ("net.state_dict()", True),
        ("copy.copy(net.state_dict())", True),
        ("copy.deepcopy(net.state_dict())", False),
        ("{k: v.clone() for k, v in net.state_dict().items()}", False),
    ],
)
def test_best_weights_of_a_fold(kept: str, wrong: bool) -> None:
    found = state("script-best-chosen-wrongly", FOLDS.replace("{KEPT}", kept))
    assert (found == "present") is wrong


def test_a_net_for_each_round_keeps_its_own() -> None:
    assert state("script-best-chosen-wrongly", GRID) != "present"
