"""Resuming that reads nothing, best figures against their sense, groups that leave out, last rounds."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from traindoctor.probes.code.optimizer import conditions
from traindoctor.probes.code.resume import asked_and_left
from traindoctor.probes.code.step import never_last
from traindoctor.probes.registry import Finding
from traindoctor.probes.scripts.syntax import Script

Check = Callable[[Script], Finding | None]
RUN = """
import argparse, torch
cli = argparse.ArgumentParser()
cli.add_argument("--resume", default=None)
args = cli.parse_args()
def main():
    net, opt, first, best = Net(), None, 0, 9e9
    BRANCH
    for epoch in range(first, 9):
        for k in range(n):
            last = TEST
            with nullcontext() if last else net.no_sync():
                loss = net(x)
                loss.backward()
        opt.step()
        v = check(net)
        if COMPARE:
            torch.save(net.state_dict(), "best.pt")
        best = KEPT
    opt = torch.optim.AdamW([
        {"params": [p for p in net.parameters() if p.requires_grad and GROUP], "weight_decay": 0.1},
        {"params": [p for p in net.parameters() if p.requires_grad and p.ndim < 2], "weight_decay": 0.0},
    ])
"""
LOADS = """if args.resume:
        net.load_state_dict(torch.load(args.resume))
        first = int(args.resume[-1])"""
USUAL = {
    "BRANCH": LOADS,
    "TEST": "k == n - 1",
    "COMPARE": "v < best",
    "KEPT": "min(best, v)",
    "GROUP": "p.ndim >= 2",
}


def told(check: Check, text: str, **parts: str) -> bool:
    """Whether a check finds its fault in a program."""
    for key, value in parts.items():
        text = text.replace(key, value)
    found = check(Script("train.py", text, ast.parse(text)))
    return found is not None and found.state.value == "present"


@pytest.mark.parametrize(
    ("check", "wrong", "right"),
    [
        (
            asked_and_left.resume_unread,
            {"BRANCH": "if args.resume:\n        first = int(args.resume[-1]) + 1"},
            {"BRANCH": "if args.resume:\n        first = int(accelerator.load_state(args.resume)) + 1"},
        ),
        (
            asked_and_left.resume_unread,
            {"BRANCH": "if args.resume:\n        first = int(args.resume.split('-')[1])"},
            {"BRANCH": "pass"},  # a flag that is left from another version
        ),
        (asked_and_left.best_against_its_sense, {"COMPARE": "v > best"}, {"COMPARE": "best > v"}),
        (
            asked_and_left.best_against_its_sense,
            {"COMPARE": "best < v"},
            {"COMPARE": "v > best", "KEPT": "max(v, best)"},
        ),
        (asked_and_left.best_against_its_sense, {"KEPT": "max(best, v)"}, {"COMPARE": "v <= best"}),
        (conditions.groups_leave_some, {"GROUP": "p.ndim > 2"}, {"GROUP": "p.ndim > 1"}),
        (conditions.groups_leave_some, {"GROUP": "p.dim() >= 3"}, {"GROUP": "p.dim() != 1"}),
        (conditions.groups_leave_some, {"GROUP": "len(p.shape) == 4"}, {"GROUP": "chosen(p)"}),
        (never_last.synchronised_never, {"TEST": "k == n"}, {"TEST": "k + 1 == n"}),
        (never_last.synchronised_never, {"TEST": "bool(k == n)"}, {"TEST": "(k + 1) % n == 0"}),
    ],
)
def test_what_is_asked_and_left(check: Check, wrong: dict[str, str], right: dict[str, str]) -> None:
    assert told(check, RUN, **{**USUAL, **wrong})
    assert not told(check, RUN, **{**USUAL, **right})
    assert not told(check, RUN, **USUAL)
