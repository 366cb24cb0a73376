"""Terms of the loss that are computed and never minimised, and the terms of policy gradients."""

from __future__ import annotations

import pytest

from traindoctor.engine.model import State
from traindoctor.probes.code.loss.left_out import term_left_out
from traindoctor.probes.code.loss.terms import term_taken_off

from .._script import finding

PRESENT, ABSENT, UNKNOWN = State.PRESENT, State.ABSENT, State.UNKNOWN

VAE = """
import torch
import torch.nn.functional as F
def criterion(recon, x, mu, logvar):
    rec = F.binary_cross_entropy(recon, x, reduction="sum")
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return {}
for x, _ in loader:
    optimizer.zero_grad()
    loss = criterion(*net(x), x)
    loss.backward()
    optimizer.step()
"""
TWO = """
import torch.nn.functional as F
for x, y in loader:
    out, code = net(x)
    fit = F.mse_loss(out, y)
    loss_code = code.abs().mean()
    total = fit + 0.1 * loss_code
    optimizer.zero_grad()
    {}.backward()
    optimizer.step()
    print({})
"""
LOOP = """
import torch
def objective(outs, y):
    total = torch.zeros(())
    for {}, out in zip(weights, outs):
        total = {}
    return total
for x, y in loader:
    objective(net(x), y).backward()
    optimizer.step()
"""
EVENT = """
import torch
def nll(rate, time, event):
    return -({}).mean()
{}
for x, t, e in loader:
    loss = nll(net(x), t, e) + 0.1 * net.penalty()
    loss.backward()
    optimizer.step()
"""
LEFT_OUT = [
    (PRESENT, VAE.format("rec / x.size(0)")),
    (ABSENT, VAE.format("(rec + kld) / x.size(0)")),
    (PRESENT, TWO.format("fit", "total.item()")),
    (ABSENT, TWO.format("total", "fit.item()")),
    (ABSENT, TWO.format("(fit + loss_code)", "total.item(), total")),  # the sum is not only shown: not told
    (PRESENT, LOOP.format("w", "w * term(out, y)")),
    (PRESENT, LOOP.format("w", "total + term(out, y)")),
    (UNKNOWN, LOOP.format("w", "total + w * term(out, y)")),
    (UNKNOWN, LOOP.format("name", "total + term(out, y)")),
    (PRESENT, EVENT.format("torch.log(rate + 1e-6) - rate * time", "")),
    (UNKNOWN, EVENT.format("event * torch.log(rate + 1e-6) - rate * time", "")),
    (UNKNOWN, EVENT.format("torch.log(rate + 1e-6) - rate * time", "TABLE = {'nll': nll}")),  # handed on
    (UNKNOWN, "import torch\nx = torch.zeros(3)\n"),
]


@pytest.mark.parametrize(("state", "text"), LEFT_OUT)
def test_left_out(state: State, text: str) -> None:
    assert finding(term_left_out, text).state is state


PPO = """
import torch
ratio = torch.exp({})
low = ratio * adv
high = torch.clamp(ratio, 0.8, 1.2) * adv
policy_loss = {}
value_loss = ((returns - value) ** 2).mean()
ent = {}
loss = policy_loss + 0.5 * value_loss {} 0.01 * ent
loss.backward()
"""
RIGHT = ("logp - old_logp", "-torch.min(low, high).mean()", "dist.entropy().mean()", "-")


def _ppo(**other: str) -> str:
    names = ("ratio", "surrogate", "entropy", "sign")
    return PPO.format(*(other.get(n, r) for n, r in zip(names, RIGHT, strict=True)))


POLICIES = [
    (ABSENT, _ppo()),
    (ABSENT, _ppo(surrogate="torch.max(-low, -high).mean()")),
    (ABSENT, _ppo(entropy="(p * torch.log(p)).sum(1).mean()", sign="+")),
    (ABSENT, _ppo(entropy="-(p * torch.log(p)).sum(1).mean()")),
    (PRESENT, _ppo(ratio="old_logp - logp")),
    (PRESENT, _ppo(surrogate="torch.min(low, high).mean()")),
    (PRESENT, _ppo(surrogate="-torch.max(low, high).mean()")),
    (PRESENT, _ppo(sign="+")),
    (PRESENT, _ppo(entropy="(p * torch.log(p)).sum(1).mean()")),
    (
        UNKNOWN,
        "import torch\nratio = torch.exp(new - old)\n"
        "gain = torch.min(ratio * adv, ratio.clamp(1 - eps, 1 + eps) * adv).mean() + 0.01 * entropy\n"
        "(-gain).backward()\n",
    ),
    # clipped values are squared errors of which the larger counts
    (
        UNKNOWN,
        "import torch\nv = old_v + torch.clamp(value - old_v, -0.1, 0.1)\n"
        "worst = torch.max((value - ret) ** 2, (v - ret) ** 2).mean()\nworst.backward()\n",
    ),
    # less entropy is what this one is for
    (UNKNOWN, "loss = ce + 0.1 * entropy\nentropy = -(p * p.log()).sum(1).mean()\nloss.backward()\n"),
]


@pytest.mark.parametrize(("state", "text"), POLICIES)
def test_policies(state: State, text: str) -> None:
    assert finding(term_taken_off, text).state is state
