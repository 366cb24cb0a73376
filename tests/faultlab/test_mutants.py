"""Faults written into published scripts: operators find their places, and what they leave is Python."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from traindoctor.engine.load import load_rules

LAB = Path(__file__).resolve().parents[2] / "faultlab"
LOOP = """
for epoch in range(3):
    sampler.set_epoch(epoch)
    model.train()
    for x, y in loader:
        loss = criterion(model(x), y) / accum_steps
        loss.backward()
        clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()  # for the next
    scheduler.step()
    model.eval()
    # größer
    validate(model)
"""
SETTINGS = """
parser.add_argument("--lr", type=float, default=3e-4)
optimizer = AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
layer = nn.Dropout(p=0.1)
loader = DataLoader(data, batch_size=8, shuffle=True)
"""
MADE = {
    "never-cleared": (LOOP, "        pass  # for the next\n"),
    "cleared-before-step": (LOOP, "        optimizer.zero_grad()\n        optimizer.step()\n"),
    "no-evaluation-mode": (LOOP, "    pass\n    # größer"),
    "stays-in-evaluation-mode": (LOOP, "    model.eval()\n    for"),
    "loss-turned": (LOOP, "        (-loss).backward()\n"),
    "schedule-stands": (LOOP, "    pass\n    model.eval()"),
    "accumulation-not-divided": (LOOP, "criterion(model(x), y)\n"),
    "epoch-not-told": (LOOP, "    pass\n    model.train()"),
    "clipped-after-update": (LOOP, "optimizer.step()\n        clip_grad_norm_(model.parameters(), 1.0)\n"),
    "rate-times-thousand": (SETTINGS, "default=0.3)"),
    "rate-by-hundred-thousand": (SETTINGS, "default=3e-09)"),
    "heavy-decay": (SETTINGS, "weight_decay=1.0)"),
    "heavy-dropout": (SETTINGS, "nn.Dropout(p=0.95)"),
    "not-shuffled": (SETTINGS, "shuffle=False)"),
}


@pytest.fixture(scope="module")
def mutants() -> Iterator[ModuleType]:
    """The lab's module as its command imports it, with its folder on the path meanwhile."""
    sys.path.insert(0, str(LAB))
    try:
        import mutants as module

        yield module
    finally:
        sys.path.remove(str(LAB))


def test_operators_name_causes_and_each_is_tried_here(mutants: ModuleType) -> None:
    known = set(load_rules().causes)

    assert all({o.cause, *o.also} <= known for o in mutants.OPERATORS.values())
    assert set(mutants.OPERATORS) == set(MADE)


@pytest.mark.parametrize("name", MADE)
def test_an_operator_writes_its_fault(mutants: ModuleType, name: str) -> None:
    text, left = MADE[name]
    code = mutants.Code(text)
    edited = code.edited(next(mutants.OPERATORS[name].sites(code)))

    assert left in edited and left not in text


@pytest.mark.parametrize("name", MADE)
def test_an_operator_leaves_other_code_alone(mutants: ModuleType, name: str) -> None:
    code = mutants.Code("import torch\n\n\ndef f(x):\n    return x * 2\n")

    assert list(mutants.OPERATORS[name].sites(code)) == []
