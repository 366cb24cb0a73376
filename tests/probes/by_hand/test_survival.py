"""Losses of proportional hazards, worked out on made patients."""

from __future__ import annotations

import ast

import pytest

from traindoctor.probes.by_hand.survival import broken_hazards
from traindoctor.probes.scripts.syntax import Script

SORTED = """
import torch
def cox_loss(risk, time, event):
    order = torch.argsort(time{order})
    risk, event = risk[order], event[order]
    below = {below}
    return {sign}((risk - below) * {seen}).sum() / event.sum().clamp_min(1)
"""
MATRIX = """
import torch
def partial_likelihood(log_h, durations, events):
    later = (durations[None, :] {test} durations[:, None]).float()
    below = torch.log((torch.exp(log_h)[None, :] * later).sum(1))
    return -((log_h - below) * events).mean()
"""
FALLING = ", descending=True"
BELOW = "torch.logcumsumexp(risk, dim=0)"


def text(order: str = FALLING, below: str = BELOW, sign: str = "-", seen: str = "event") -> str:
    return SORTED.format(order=order, below=below, sign=sign, seen=seen)


@pytest.mark.parametrize(
    ("program", "broken"),
    [
        (text(), False),
        (text(below="risk.exp().cumsum(0).log()"), False),
        (MATRIX.format(test=">="), False),
        (
            text().replace("    order = torch.argsort(time, descending=True)\n", "").replace("[order]", ""),
            False,
        ),
        (text(below="looked_up(risk)"), False),
        (text().replace("cox_loss", "margin"), False),
        (text(order=""), True),
        (text(below="risk.cumsum(0)"), True),
        (text(sign=""), True),
        (text(seen="(1 - event)"), True),
        (MATRIX.format(test="<="), True),
    ],
)
def test_hazards(program: str, broken: bool) -> None:
    assert (broken_hazards(Script("train.py", program, ast.parse(program))) is not None) is broken
