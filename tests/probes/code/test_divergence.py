"""Divergences: what `kl_div` takes, the one of Gaussians written out, samples that hand on no gradient."""

from __future__ import annotations

import pytest

from .._scripts import state

PUPIL = """
import torch
import torch.nn.functional as F
def soft(mine, goal, t):
    log_p = F.log_softmax(mine / t, dim=1)
    q = F.softmax(goal / t, dim=1)
    return F.kl_div(log_p, q, reduction="batchmean") * t * t
for x, y in loader:
    loss = soft(student(x), teacher(x).detach(), 4.0)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
CODE = """
import torch
from torch import nn
import torch.nn.functional as F
class Coder(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(8, 4)
        self.dec = nn.Linear(2, 8)
    def draw(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        return mu + std * torch.randn_like(std)
    def forward(self, x):
        mu, logvar = self.enc(x).chunk(2, 1)
        return self.dec(self.draw(mu, logvar)), mu, logvar
def losses(out, x, mu, logvar, beta):
    rec = F.mse_loss(out, x, reduction="sum") / len(x)
    kl = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp()) / len(x)
    return rec + beta * kl, rec, kl
model = Coder()
optimizer = torch.optim.Adam(model.parameters())
for x in loader:
    out, mu, logvar = model(x)
    loss, rec, kl = losses(out, x, mu, logvar, 1.0)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
TERM = "-0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp()) / len(x)"
KL = 'F.kl_div(log_p, q, reduction="batchmean")'
DRAW = "        return mu + std * torch.randn_like(std)"
WRONG = [
    ("script-loss-wrong", PUPIL, "F.log_softmax(mine", "F.softmax(mine"),
    ("script-loss-wrong", PUPIL, "F.softmax(goal", "F.log_softmax(goal"),
    ("script-loss-wrong", PUPIL, "F.softmax(goal / t, dim=1)", "(goal / t).log_softmax(-1).detach()"),
    ("script-loss-wrong", PUPIL, KL, "F.kl_div(q, log_p, reduction='batchmean')"),
    ("script-loss-wrong", PUPIL, KL, "nn.KLDivLoss(reduction='batchmean')(q, q)"),
    ("script-loss-wrong", PUPIL, 'reduction="batchmean")', 'reduction="batchmean", log_target=True)'),
    ("script-loss-wrong", CODE, "-0.5 * torch.sum", "0.5 * torch.sum"),
    ("script-loss-wrong", CODE, "1 + logvar - mu.pow(2)", "1 + logvar + mu.pow(2)"),
    ("script-loss-wrong", CODE, TERM, "0.5 * (mu ** 2 + logvar.exp() + logvar - 1).sum(1).mean()"),
    ("script-loss-wrong", CODE, TERM, "0.5 * (1 + logvar - mu * mu - torch.exp(logvar)).sum(1).mean()"),
    ("script-loss-wrong", CODE, "rec + beta * kl", "rec - beta * kl"),
    ("script-gradient-path-cut", CODE, DRAW, "        return torch.normal(mu, std)"),
    ("script-gradient-path-cut", CODE, DRAW, "        return torch.distributions.Normal(mu, std).sample()"),
]
RIGHT = [
    (PUPIL, "", ""),
    (PUPIL, KL, 'F.kl_div(log_p, q.log(), reduction="batchmean", log_target=True)'),
    (PUPIL, "F.softmax(goal / t, dim=1)", "goal"),
    (PUPIL, "F.log_softmax(mine / t, dim=1)", "F.softmax(mine / t, dim=1).log()"),
    (CODE, "", ""),
    (CODE, TERM, "0.5 * (mu.square() + logvar.exp() - logvar - 1).sum(1).mean()"),
    (CODE, TERM, "(-0.5 * (1 + logvar - mu ** 2 - torch.exp(logvar))).mean()"),
    (CODE, TERM, "0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())\n    kl = -kl"),
    (CODE, "    return rec + beta * kl, rec, kl", "    elbo = -rec - beta * kl\n    return -elbo, rec, kl"),
    (CODE, DRAW, "        return torch.distributions.Normal(mu, std).rsample()"),
    (CODE, DRAW, "        if not self.training:\n            return torch.normal(mu, std)\n" + DRAW),
]
SYMPTOMS = ("script-loss-wrong", "script-gradient-path-cut")


@pytest.mark.parametrize(("symptom", "text", "old", "new"), WRONG)
def test_wrong_ones_are_found(symptom: str, text: str, old: str, new: str) -> None:
    assert text.count(old) == 1
    assert state(symptom, text.replace(old, new)) == "present"


@pytest.mark.parametrize(("text", "old", "new"), RIGHT)
def test_right_ones_are_left_alone(text: str, old: str, new: str) -> None:
    assert not old or text.count(old) == 1
    for symptom in SYMPTOMS:
        assert state(symptom, text.replace(old, new) if old else text) != "present", symptom


def test_nothing_to_judge() -> None:
    assert [state(s, "import torch\nprint(torch.ones(3))\n") for s in SYMPTOMS] == ["unknown"] * 2
