"""Sums over batches in scripts: what is kept of them, where they begin, what they are divided by."""

from __future__ import annotations

import pytest

from traindoctor.engine.model import State
from traindoctor.probes.code.evaluation.metrics import metric_miscounts

from .._script import finding

PRESENT, ABSENT, UNKNOWN = State.PRESENT, State.ABSENT, State.UNKNOWN

SCORE = """
def validate(model, loader):
    loss, right, seen = 0.0, 0, 0
    for x, y in loader:
        out = model(x)
        loss {add} criterion(out, y).item()
        right += (out.argmax(1) == y).sum().item()
        seen += {step}
    return loss / len(loader), 100.0 * right / {count}
"""
EPOCHS = """
def fit(model, loader):
    {before}
    for epoch in range(9):
        {inside}
        for x, y in loader:
            loss = criterion(model(x), y)
            loss.backward()
            total += loss.item()
        print(epoch, total / {count})
"""
CASES = [
    (ABSENT, SCORE.format(add="+=", step="y.size(0)", count="seen"), ""),
    (PRESENT, SCORE.format(add="=", step="y.size(0)", count="seen"), "last round"),
    (ABSENT, SCORE.format(add="+=", step="1", count="len(loader.dataset)"), ""),
    (PRESENT, EPOCHS.format(before="total = 0.0", inside="pass", count="len(loader)"), "goes on"),
    (ABSENT, EPOCHS.format(before="pass", inside="total = 0.0", count="len(loader)"), ""),
    # a mean over all that was seen so far
    (ABSENT, EPOCHS.format(before="total = 0.0", inside="pass", count="(len(loader) * (epoch + 1))"), ""),
    (UNKNOWN, "for x in data:\n    y = f(x)\n", ""),
]


@pytest.mark.parametrize(("state", "text", "why"), CASES)
def test_totals(state: State, text: str, why: str) -> None:
    """Each slip is found by itself; the right sum, the running mean and a loop without a sum are not."""
    found = finding(metric_miscounts, text)

    assert found.state is state, found.why
    assert why in found.why
