"""What likelihoods are given: rates or their logarithms, targets and variances, weights of a focal loss."""

from __future__ import annotations

import pytest

from .._scripts import state

NET = """
import torch
from torch import nn
import torch.nn.functional as F
class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 16)
        self.rate = nn.Linear(16, 1)
        self.both = nn.Linear(16, 2)
    def forward(self, x):
        h = torch.relu(self.body(x))
        mu, s = self.both(h).chunk(2, 1)
        return self.rate(h).squeeze(1), mu.squeeze(1), F.softplus(s).squeeze(1) + 1e-4
net = Two()
opt = torch.optim.Adam(net.parameters(), 1e-3)
poisson = nn.PoissonNLLLoss()
gauss = nn.GaussianNLLLoss()
for epoch in range(9):
    for x, y, depth in loader:
        rate, mu, var = net(x)
        loss = {LOSS}
        opt.zero_grad()
        loss.backward()
        opt.step()
"""
PLAIN = """
import torch
from torch import nn
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), {HEAD})
opt = torch.optim.Adam(net.parameters(), 1e-3)
lossf = nn.PoissonNLLLoss({SAID})
for epoch in range(9):
    for x, y in loader:
        loss = lossf({GIVEN}, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
"""
FOCAL = """
import torch
import torch.nn.functional as F
net = torch.nn.Linear(8, 4)
opt = torch.optim.Adam(net.parameters(), 1e-3)
def focal(logits, y, gamma=2.0):
    {FIRST}
    return {LOSS}
for epoch in range(9):
    for x, y in loader:
        loss = focal(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
"""
LOGP = "logp = F.log_softmax(logits, 1).gather(1, y[:, None]).squeeze(1)"
CE = "ce = F.cross_entropy(logits, y, reduction='none'); p = torch.exp(-ce)"


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        ("poisson(rate, y) + gauss(mu, depth, var)", False),
        ("poisson(rate, y) + gauss(mu, var, depth)", True),
        ("F.gaussian_nll_loss(mu, var, depth)", True),
        ("F.gaussian_nll_loss(mu, depth, var)", False),
        ("F.poisson_nll_loss(rate, y, log_input=False)", True),
        ("F.poisson_nll_loss(rate.exp(), y, log_input=False)", False),
        ("F.poisson_nll_loss(rate.exp(), y)", True),
        ("F.poisson_nll_loss(rate, y)", False),
    ],
)
def test_likelihoods_of_two_outputs(loss: str, expected: bool) -> None:
    assert (state("script-loss-wrong", NET.replace("{LOSS}", loss)) == "present") is expected


@pytest.mark.parametrize(
    ("head", "said", "given", "expected"),
    [
        ("nn.Linear(16, 1)", "log_input=False", "net(x)[:, 0]", False),  # a column: it is not told which
        ("nn.Linear(16, 1)", "log_input=False", "net(x).squeeze(1)", True),
        ("nn.Linear(16, 1), nn.Softplus()", "log_input=False", "net(x).squeeze(1)", False),
        ("nn.Linear(16, 1)", "", "net(x).squeeze(1)", False),
        ("nn.Linear(16, 1)", "log_input=LOGS", "net(x).squeeze(1)", False),
        ("nn.Linear(16, 1)", "", "torch.exp(net(x))", True),
    ],
)
def test_rate_or_its_logarithm(head: str, said: str, given: str, expected: bool) -> None:
    text = PLAIN.replace("{HEAD}", head).replace("{SAID}", said).replace("{GIVEN}", given)
    assert (state("script-loss-wrong", text) == "present") is expected


@pytest.mark.parametrize(
    ("begun", "loss", "expected"),
    [
        (LOGP, "-((1 - logp.exp()) ** gamma * logp).mean()", False),
        (LOGP, "-(logp.exp() ** gamma * logp).mean()", True),
        (LOGP, "(-torch.exp(logp).pow(gamma) * logp).mean()", True),
        (CE, "((1 - p) ** gamma * ce).mean()", False),
        (CE, "(p ** gamma * ce).mean()", True),
        (CE, "(0.25 * torch.pow(p, gamma) * ce).mean()", True),
    ],
)
def test_weight_of_a_focal_loss(begun: str, loss: str, expected: bool) -> None:
    text = FOCAL.replace("{FIRST}", begun).replace("{LOSS}", loss)
    assert (state("script-loss-wrong", text) == "present") is expected


KERAS = """
import numpy as np
from tensorflow import keras
from tensorflow.keras import layers
d = np.load("days.npz")
x = keras.Input((6,))
h = layers.Dense(32, activation="relu")(x)
sold = layers.Dense(1, {SOLD}name="sold")(h)
kind = layers.Dense(4, {KIND}name="kind")(h)
net = keras.Model(x, {OUT})
net.compile("adam", loss={LOSS})
net.fit(d["x"], {"sold": d["s"], "kind": d["k"]}, epochs=9)
"""
BY_NAME = '{"sold": keras.losses.Poisson(), "kind": keras.losses.SparseCategoricalCrossentropy({SAID})}'
BY_PLACE = "[keras.losses.Poisson(), keras.losses.SparseCategoricalCrossentropy({SAID})]"


@pytest.mark.parametrize(
    ("out", "loss"),
    [('{"sold": sold, "kind": kind}', BY_NAME), ("[sold, kind]", BY_NAME), ("[sold, kind]", BY_PLACE)],
)
@pytest.mark.parametrize(
    ("sold", "kind", "said", "expected"),
    [
        ('activation="softplus", ', 'activation="softmax", ', "", False),
        ("", 'activation="softmax", ', "", True),
        ('activation="softplus", ', 'activation="softmax", ', "from_logits=True", True),
        ('activation="softplus", ', "", "from_logits=True", False),
        ('activation="exponential", ', "", "", True),
    ],
)
def test_losses_of_several_outputs(
    out: str, loss: str, sold: str, kind: str, said: str, expected: bool
) -> None:
    text = KERAS.replace("{OUT}", out).replace("{LOSS}", loss).replace("{SAID}", said)
    text = text.replace("{SOLD}", sold).replace("{KIND}", kind)
    assert (state("script-loss-wrong", text) == "present") is expected
