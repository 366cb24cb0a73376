"""Logarithms of one less a sigmoid, with and without a floor."""

from __future__ import annotations

import pytest

from ._program import told

LOSS = ("F.cross_entropy(net(x), y)", "-(y * torch.log(p) + (1 - y) * torch.log(1 - p)).mean()")
ONE = ("nn.Linear(width, 3)", "nn.Linear(width, 1)")


def kinds(made: str, *edits: tuple[str, str]) -> set[str]:
    """The verdicts over the program with a loss of chances written out."""
    return told(LOSS, ONE, ("        loss = -", f"        p = {made}\n        loss = -"), *edits) & {
        "log-of-nought"
    }


@pytest.mark.parametrize(
    "made", ["torch.sigmoid(net(x)).squeeze(1)", "net(x).sigmoid().view(-1)", "nn.Sigmoid()(net(x))"]
)
def test_no_floor(made: str) -> None:
    assert kinds(made) == {"log-of-nought"}


@pytest.mark.parametrize(
    "made", ["torch.sigmoid(net(x)).clamp(1e-6, 1 - 1e-6)", "unknown(torch.sigmoid(net(x)))", "net(x)"]
)
def test_a_floor_or_not_known(made: str) -> None:
    assert kinds(made) == set()


def test_a_floor_within_the_logarithm() -> None:
    assert kinds("torch.sigmoid(net(x))", ("torch.log(1 - p)", "torch.log(1 - p + 1e-8)")) == set()
