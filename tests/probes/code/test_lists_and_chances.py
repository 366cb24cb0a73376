"""Counts of the last batch, layers in lists that grow, and the chance of a class under a logarithm."""

from __future__ import annotations

import pytest

from .._scripts import state

NET = """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        layers = []
        for a, b in zip(sizes, sizes[1:]):
            GROW
        KEEP
        self.out = nn.Linear(sizes[-1], 1)
    def forward(self, x):
        for layer in self.body:
            x = layer(x)
        return self.out(x)
net = Net([4, 8, 8])
opt = torch.optim.Adam(net.parameters())
for x, y in loader:
    opt.zero_grad()
    nn.functional.mse_loss(net(x), y).backward()
    opt.step()
"""


@pytest.mark.parametrize(
    "grow", ["layers += [nn.Linear(a, b), nn.ReLU()]", "layers.extend([nn.Linear(a, b), nn.ReLU()])"]
)
@pytest.mark.parametrize(
    ("keep", "found"),
    [
        ("self.body = layers", True),
        ("self.body = nn.ModuleList(layers)", False),
        ("self.body = nn.Sequential(*layers)", False),
    ],
)
def test_a_list_that_grows(grow: str, keep: str, found: bool) -> None:
    code = NET.replace("GROW", grow).replace("KEEP", keep)
    assert (state("script-layers-in-plain-list", code) == "present") is found


LOSS = """
import torch
from transformers import Trainer
class Own(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **kw):
        labels = inputs.pop("labels")
        out = model(**inputs)
        LOSS
        return (loss, out) if return_outputs else loss
Own(model=model, args=args, train_dataset=rows).train()
"""


@pytest.mark.parametrize(
    ("loss", "found"),
    [
        ("p = out.logits.softmax(-1)\n        loss = -torch.log(p.gather(1, labels[:, None])).mean()", True),
        (
            "p = torch.softmax(out.logits, -1).gather(1, labels[:, None])\n        loss = -p.log().mean()",
            True,
        ),
        ("p = out.logits.softmax(-1)\n        loss = -p[torch.arange(len(p)), labels].log().mean()", True),
        ("p = out.logits.softmax(-1)[:, 1]\n        loss = -p.clamp(min=1e-6).log().mean()", False),
        ("p = out.logits.log_softmax(-1)\n        loss = -p.gather(1, labels[:, None]).mean()", False),
        (
            "p = out.logits.softmax(-1).gather(1, labels[:, None])\n        loss = -(p + 1e-8).log().mean()",
            False,
        ),
        ("p = out.lengths.gather(1, labels[:, None])\n        loss = -torch.log(p).mean()", False),
    ],
)
def test_the_chance_of_the_class_under_a_logarithm(loss: str, found: bool) -> None:
    assert (state("script-zero-without-floor", LOSS.replace("LOSS", loss)) == "present") is found


SCORE = """
import torch
def score(net, loader):
    net.eval()
    hits, n = 0, 0
    for x, y in loader:
        BODY
    return hits / max(1, n)
for x, y in loader:
    opt.zero_grad()
    torch.nn.functional.cross_entropy(net(x), y).backward()
    opt.step()
print(score(net, held))
"""


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("hits += (net(x).argmax(1) == y).sum().item()\n        n = len(y)", True),
        ("hits, n = (net(x).argmax(1) == y).sum().item(), len(y)", True),
        ("hits += (net(x).argmax(1) == y).sum().item()\n        n += len(y)", False),
        ("hits += (net(x).argmax(1) == y).sum().item()\n        n = n + len(y)", False),
        ("hits, n = hits + (net(x).argmax(1) == y).sum().item(), n + len(y)", False),
    ],
)
def test_the_count_of_the_last_batch(body: str, found: bool) -> None:
    assert (state("script-metric-miscounts", SCORE.replace("BODY", body)) == "present") is found
