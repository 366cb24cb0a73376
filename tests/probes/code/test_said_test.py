"""What is called the test against what was scored, and answers against labels of other rows."""

from __future__ import annotations

import pytest

from .._scripts import state

FLAT = """
import torch
x, y = load()
n = len(x)
xt, yt = x[:a], y[:a]
xv, yv = x[a:b], y[a:b]
xe, ye = x[b:], y[b:]
xe = (xe - m) / s
for i in range(9):
    crit(net(xt), yt).backward()
    opt.step()
    pv = grade(xv)
    acc = (pv == yv).mean()
    kap = kappa(yv, {kap})
{last}
def grade(x):
    return net(x).argmax(1)
def kappa(a, b):
    return 1 - table(a, b)
"""
PARTS = """
import torch
def main(model, loss):
    train, valid, test = (read(p) for p in ("train", "valid", "test"))
    for x, y in batches(train):
        loss(model(x), y).backward()
    figure = measure(model, valid)
    print("valid", figure)
    {last}
def measure(model, rows):
    return sum((model(x).argmax(1) == y).sum() for x, y in rows)
"""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (FLAT.format(kap="pv", last="pe = grade(xe)\nprint((pe == ye).mean())"), False),
        (FLAT.format(kap="pv", last="pe = grade(xv)\nprint((pe == ye).mean())"), True),
        (FLAT.format(kap="pv", last="pe = grade(xe)\nprint(abs(pe - yv).mean())"), True),
        (FLAT.format(kap="pv", last="print((grade(xe) == ye).mean(), (pv == yv).mean())"), False),
        (FLAT.format(kap="yv", last="print(kappa(ye, grade(xe)))"), True),
        (FLAT.format(kap="pv", last="print(kappa(ye, ye), 'of the best there is')"), True),
        (PARTS.format(last='print("test", measure(model, test))'), False),
        (PARTS.format(last='print("test", measure(model, valid))'), True),
        (PARTS.format(last='end = measure(model, valid)\n    print("test", end)'), True),
        (PARTS.format(last='print("test against validation", measure(model, valid))'), False),
        (PARTS.format(last='print("test", measure(model, valid), measure(model, test))'), False),
        ("import torch\nx = 1\n", False),
    ],
)
def test_rows_that_are_scored(text: str, told: bool) -> None:
    """Each slip beside the right way."""
    assert (state("script-metric-miscounts", text) == "present") is told
