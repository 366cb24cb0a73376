"""A net that is trained on from fold to fold."""

from __future__ import annotations

import pytest

from .._scripts import state

HEAD = """\
import copy
import numpy as np
import torch
from sklearn.model_selection import KFold, LeaveOneGroupOut, TimeSeriesSplit
from torch import nn

x, y, group = torch.load('x.pt'), torch.load('y.pt'), np.load('group.npy')

def make():
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))

def learn(model, x, y):
    optimizer = torch.optim.Adam(model.parameters())
    model.train()
    for _ in range(20):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

def learnt(model, x, y):
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(20):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    return model

def score(model, x, y):
    model.eval()
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()

"""
INLINE = """    optimizer = torch.optim.Adam(net.parameters())
    net.train()
    for _ in range(20):
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x[a]), y[a]).backward()
        optimizer.step()
    net.eval()
    with torch.no_grad():
        print((net(x[b]).argmax(1) == y[b]).float().mean())
"""
CALLED = "    learn(net, x[a], y[a])\n    print(score(net, x[b], y[b]))\n"
OVER = [
    "for a, b in KFold(5, shuffle=True, random_state=0).split(x):\n",
    "cv = LeaveOneGroupOut()\nfor i, (a, b) in enumerate(cv.split(x, y, group)):\n",
    "for fold in range(5):\n    a, b = np.where(group != fold)[0], np.where(group == fold)[0]\n",
]


GIVEN_BACK = CALLED.replace("    learn(net, x[a], y[a])", "    net = learnt(net, x[a], y[a])")


@pytest.mark.parametrize("body", [INLINE, CALLED, GIVEN_BACK])
@pytest.mark.parametrize("over", OVER)
def test_one_net_for_all_folds(over: str, body: str) -> None:
    program = f"{HEAD}net = make()\n{over}{body}"
    assert state("script-training-sees-evaluation", program) == "present"


@pytest.mark.parametrize("body", [INLINE, CALLED])
@pytest.mark.parametrize("over", OVER)
@pytest.mark.parametrize(
    ("above", "inside"),
    [
        ("", "    net = make()\n"),
        ("first = make()\n", "    net = learnt(make(), x[a], y[a])\n"),
        ("first = make()\n", "    net = copy.deepcopy(first)\n"),
        ("net = make()\nstart = copy.deepcopy(net.state_dict())\n", "    net.load_state_dict(start)\n"),
        (
            "net = make()\n",
            "    net.apply(lambda m: m.reset_parameters() if hasattr(m, 'weight') else None)\n",
        ),
    ],
)
def test_each_fold_begins_anew(over: str, above: str, inside: str, body: str) -> None:
    assert state("script-training-sees-evaluation", f"{HEAD}{above}{over}{inside}{body}") != "present"


def test_a_net_that_goes_on_in_time() -> None:
    over = "for a, b in TimeSeriesSplit(5).split(x):\n"
    assert state("script-training-sees-evaluation", f"{HEAD}net = make()\n{over}{CALLED}") != "present"


def test_a_net_that_is_trained_before_the_folds() -> None:
    program = (
        f"{HEAD}net = make()\nlearn(net, x, y)\n{OVER[0]}    head = make()\n{CALLED.replace('net', 'head')}"
    )
    assert state("script-training-sees-evaluation", program) != "present"
