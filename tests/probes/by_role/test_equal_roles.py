"""Programs that train alike in other words: one by a name, the other by its arithmetic."""

from __future__ import annotations

import ast

import pytest

from traindoctor.probes.by_role.compare import told
from traindoctor.probes.scripts.syntax import Script

HEAD = """
import copy
import torch
from torch import nn
import torch.nn.functional as F
net = make()
"""
STEP = """
for x, y in loader:
    loss = F.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


def _kinds(mine: str, theirs: str) -> set[str]:
    sides = [Script("train.py", t, ast.parse(t)) for t in (mine, theirs)]
    return {found.kind for found in told(*sides)}


EMA = HEAD + "ema = copy.deepcopy(net)\nopt = torch.optim.Adam(net.parameters(), lr=1e-3)\n" + STEP
KEPT = EMA + "    for a, b in zip(ema.parameters(), net.parameters()):\n        a.data.lerp_(b.data, 0.001)\n"
KEPT += "judge(ema)\n"


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (
            "    for a, b in zip(slow.parameters(), net.parameters()):\n"
            "        a.mul_(0.999).add_(0.001 * b)\n",
            False,
        ),
        ("    for k, v in net.state_dict().items():\n        slow[k] = 0.999 * slow[k] + 0.001 * v\n", False),
        (
            "    for a, b in zip(slow.variables, net.variables):\n        a.assign(a * (1 - t) + b * t)\n",
            False,
        ),
        ("    for a, b in zip(slow.parameters(), net.parameters()):\n        a.copy_(b)\n", True),
        ("", True),
    ],
)
def test_an_average_of_weights_is_one_under_any_name(lines: str, said: bool) -> None:
    text = HEAD + "slow = copy.deepcopy(net)\nopt = torch.optim.Adam(net.parameters(), lr=1e-3)\n" + STEP
    assert ("average-left-out" in _kinds(text + lines + "judge(slow)\n", KEPT)) is said


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ("opt = torch.optim.Adam(net.parameters(), lr=1e-3)\nstart(warmup_steps)\n", False),  # of a memory
        (
            "opt = torch.optim.Adam(net.parameters(), lr=1e-3)\n"
            "sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1, s / warmup_steps))\n",
            True,
        ),
        (
            "opt = torch.optim.Adam(net.parameters(), lr=1e-3)\n"
            "def lr_at(s):\n    return min(1, s / warmup_steps)\nmove(opt, lr_at(3))\n",
            True,
        ),
    ],
)
def test_what_is_warmed_up_is_the_rate(made: str, said: bool) -> None:
    plain = HEAD + "opt = torch.optim.Adam(net.parameters(), lr=1e-3)\n" + STEP
    assert ("warmup" in _kinds(plain, HEAD + "warmup_steps = 1000\n" + made + STEP)) is said


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("nn.init.normal_(net.head.weight, 0.0, 0.01)", True),
        ("from torch.distributions import Normal\ncode = Normal(mean, spread)", False),
        ("noise = torch.empty_like(mean).normal_()", False),
    ],
)
def test_random_numbers_are_no_initial_weights(line: str, said: bool) -> None:
    plain = HEAD + "opt = torch.optim.Adam(net.parameters(), lr=1e-3)\n" + STEP
    assert ("init" in _kinds(plain, plain.replace("net = make()", "net = make()\n" + line))) is said


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("loss = objective(net(x), y)", False),
        ("loss = F.binary_cross_entropy_with_logits(net(x), y)", True),
    ],
)
def test_a_sum_of_losses_is_one_with_its_parts_unnamed(line: str, said: bool) -> None:
    """`return ce + 1.0 - overlap.mean()`: the second term has no name that tells it."""
    right = HEAD + STEP.replace(
        "loss = F.cross_entropy(net(x), y)",
        "loss = F.binary_cross_entropy_with_logits(net(x), y) + dice_loss(net(x), y)",
    )
    helper = """
def objective(z, t):
    ce = F.binary_cross_entropy_with_logits(z, t)
    p = z.sigmoid()
    return ce + 1.0 - ((2 * (p * t).sum() + 1) / (p.sum() + t.sum() + 1)).mean()
"""
    text = (
        HEAD
        + (helper if "objective" in line else "")
        + STEP.replace("loss = F.cross_entropy(net(x), y)", line)
    )
    assert ("loss-function" in _kinds(text, right)) is said


@pytest.mark.parametrize(
    ("loss", "said"),
    [
        ("F.binary_cross_entropy_with_logits(net(x), y, weight=share[y.long()])", False),
        ("F.binary_cross_entropy_with_logits(net(x), y)", True),
    ],
)
def test_classes_may_be_weighed_row_by_row(loss: str, said: bool) -> None:
    text = HEAD + STEP.replace("F.cross_entropy(net(x), y)", loss)
    right = "import tensorflow as tf\nmodel = make()\nmodel.compile('adam', 'binary_crossentropy')\n"
    right += "model.fit(x, y, class_weight={0: 1.0, 1: 4.0})\n"
    assert ("loss-weight" in _kinds(text, right)) is said


def test_what_is_held_fixed_after_training_is_no_part_of_it() -> None:
    later = "for p in net.parameters():\n    p.requires_grad = False\n"
    text = HEAD + "opt = torch.optim.Adam(net.parameters(), lr=1e-3)\n"
    second = "judge(net)\n"

    assert "regularisation-lowered" not in _kinds(text + STEP + second, text + STEP + later + second)
    assert "regularisation-lowered" in _kinds(text + STEP + second, HEAD + later + text + STEP + second)
