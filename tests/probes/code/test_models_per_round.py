"""Models that each fold or seed makes anew, and parts that are divided again or joined for the last fit."""

from __future__ import annotations

import pytest

from .._scripts import state

HEAD = """\
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

x, y = torch.load('x.pt'), torch.load('y.pt')
"""

OF_A_FUNCTION = (
    HEAD
    + """
def fit(x, y):
    net = nn.Sequential(nn.Linear(8, 16), nn.Dropout(0.2), nn.Linear(16, 1))
    opt = torch.optim.Adam(net.parameters())
    for epoch in range(40):
        opt.zero_grad()
        F.mse_loss(net(x), y).backward()
        opt.step()
    return net

def score(net, x, y):
    net.eval()
    with torch.no_grad():
        return F.mse_loss(net(x), y).item()

for fold in range(5):
    keep = torch.arange(len(x)) % 5 != fold
    net = fit(x[keep], y[keep])
    print(fold, score(net, x[~keep], y[~keep]))
"""
)

IN_PLACE = (
    HEAD
    + """
for seed in range(5):
    torch.manual_seed(seed)
    net = nn.Sequential(nn.Linear(8, 16), nn.Dropout(0.2), nn.Linear(16, 1))
    opt = torch.optim.Adam(net.parameters())
    for epoch in range(40):
        opt.zero_grad()
        F.mse_loss(net(x[100:]), y[100:]).backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        print(seed, F.mse_loss(net(x[:100]), y[:100]).item())
"""
)

HANDED_ON = (
    HEAD
    + """
def build():
    return nn.Sequential(nn.Linear(8, 16), nn.Dropout(0.2), nn.Linear(16, 1))

def train_model(model, x, y, lr):
    opt = torch.optim.Adam(model.parameters(), lr=lr)
    for epoch in range(40):
        opt.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        opt.step()

def error(model, x, y):
    model.eval()
    with torch.no_grad():
        return F.mse_loss(model(x), y).item()

errors = {}
for lr in (1e-3, 3e-4):
    model = build()
    train_model(model, x[100:], y[100:], lr)
    errors[lr] = error(model, x[:100], y[:100])
print(errors)
"""
)

PAIR_OF_THINGS = OF_A_FUNCTION.replace("return net\n", "return net, opt\n").replace(
    "net = fit(x[keep], y[keep])", "net, _ = fit(x[keep], y[keep])"
)

EACH_EPOCH = IN_PLACE.replace("for seed in range(5):\n    torch.manual_seed(seed)\n    net", "net").replace(
    "        F.mse", "        F.mse"
)


@pytest.mark.parametrize("program", [OF_A_FUNCTION, IN_PLACE, HANDED_ON, PAIR_OF_THINGS])
def test_each_round_makes_its_model(program: str) -> None:
    assert state("script-eval-mode-while-training", program) != "present"


@pytest.mark.parametrize(
    "program",
    [
        # the model is made once, and each round trains it on in the mode of the last score
        IN_PLACE.replace("for seed in range(5):\n    torch.manual_seed(seed)\n", "")
        .replace("    net = nn.S", "net = nn.S")
        .replace("    opt = torch", "opt = torch")
        .replace("    for epoch in range(40):", "for epoch in range(40):\n    for _ in range(3):"),
        HANDED_ON.replace("    model = build()\n", "").replace("errors = {}", "errors = {}\nmodel = build()"),
        HANDED_ON.replace(
            "    for epoch in range(40):\n", "    for epoch in range(40):\n        error(model, x, y)\n"
        ),
    ],
)
def test_one_model_for_all_rounds(program: str) -> None:
    assert state("script-eval-mode-while-training", program) == "present"


TABLE = """\
import numpy as np
import torch
from sklearn.model_selection import KFold, train_test_split
from sklearn.preprocessing import StandardScaler
from torch import nn

x, y = np.load('x.npy'), np.load('y.npy')

def fit(x, y, epochs=50):
    net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    opt = torch.optim.Adam(net.parameters())
    x, y = torch.tensor(x).float(), torch.tensor(y).float()[:, None]
    for _ in range(epochs):
        opt.zero_grad()
        nn.functional.mse_loss(net(x), y).backward()
        opt.step()
    return net

def error(net, x, y):
    with torch.no_grad():
        return (net(torch.tensor(x).float())[:, 0] - torch.tensor(y).float()).abs().mean().item()

"""

LAST_FIT = (
    TABLE
    + """n = len(x)
a, b = int(0.6 * n), int(0.8 * n)
mean, std = x[:a].mean(0), x[:a].std(0)
net = fit((x[:a] - mean) / std, y[:a])
print(error(net, (x[a:b] - mean) / std, y[a:b]))
mean, std = x[:b].mean(0), x[:b].std(0)
net = fit((x[:b] - mean) / std, y[:b])
print(error(net, (x[b:] - mean) / std, y[b:]))
"""
)
DEVELOPED = (
    TABLE
    + """rows = np.random.default_rng(0).permutation(len(x))
dev, test = rows[100:], rows[:100]
val, train = dev[:80], dev[80:]
scaler = StandardScaler().fit(x[train])
net = fit(scaler.transform(x[train]), y[train])
print(error(net, scaler.transform(x[val]), y[val]))
scaler = StandardScaler().fit(x[dev])
net = fit(scaler.transform(x[dev]), y[dev])
print(error(net, scaler.transform(x[test]), y[test]))
"""
)
NESTED = (
    TABLE
    + """for dev, test in KFold(5, shuffle=True, random_state=0).split(x):
    for a, b in KFold(3).split(dev):
        tr, va = dev[a], dev[b]
        scaler = StandardScaler().fit(x[tr])
        net = fit(scaler.transform(x[tr]), y[tr])
        print(error(net, scaler.transform(x[va]), y[va]))
    scaler = StandardScaler().fit(x[dev])
    net = fit(scaler.transform(x[dev]), y[dev])
    print(error(net, scaler.transform(x[test]), y[test]))
"""
)
SCALED_AND_SPLIT = (
    "script-training-sees-evaluation",
    "script-learns-from-held-out",
    "script-splits-processed-differently",
)


@pytest.mark.parametrize("symptom", SCALED_AND_SPLIT)
@pytest.mark.parametrize("program", [LAST_FIT, DEVELOPED, NESTED])
def test_fitted_anew_on_training_and_validation_rows(program: str, symptom: str) -> None:
    assert state(symptom, program) != "present"


@pytest.mark.parametrize(
    "program",
    [
        LAST_FIT.replace("mean, std = x[:b].mean(0), x[:b].std(0)", "mean, std = x.mean(0), x.std(0)"),
        LAST_FIT.replace("net = fit((x[:b] - mean) / std, y[:b])", "net = fit((x - mean) / std, y)"),
        DEVELOPED.replace("val, train = dev[:80], dev[80:]", "val, train = dev[:80], dev[40:]"),
        DEVELOPED.replace("StandardScaler().fit(x[dev])", "StandardScaler().fit(x)"),
    ],
)
def test_the_last_fit_sees_the_test_rows(program: str) -> None:
    assert "present" in (state(s, program) for s in SCALED_AND_SPLIT[:2])
