"""Figures against the formula of their name, each slip beside the right way and what looks like it."""

from __future__ import annotations

import pytest

from .._scripts import state

TEXT = """
import numpy as np
import torch
def learn(model, loader, criterion, opt):
    for x, y in loader:
        criterion(model(x), y).backward()
        opt.step()
@torch.no_grad()
def figures(model, loader):
    s = torch.zeros(4)
    for x, y in loader:
        e = model(x).squeeze(1) - y
        s[0] += e.pow(2).sum()
        s[1] += y.sum()
        s[2] += y.pow(2).sum()
        s[3] += len(y)
    squares, total, total_sq, rows = s.tolist()
    spread = total_sq - total ** 2 / rows
    table, rank, a, b = counted(model, loader)
    hit = np.diag(table)
    {}
    return out
"""


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("rmse = squares / rows", True),
        ("rmse = (squares / rows) ** 0.5", False),
        ("rmse = np.sqrt(squares / rows)", False),
        ("mse = squares / rows", False),
        ("rmse = library.score(a, b)", False),
        ("r2 = squares / spread", True),
        ("r2 = 1 - squares / spread", False),
        ("r2 = (spread - squares) / spread", False),
        ("r2 = np.corrcoef(a, b)[0, 1] ** 2", False),
        ("kappa = (w * table).sum() / (w * e).sum()", True),
        ("kappa = 1 - (w * table).sum() / (w * e).sum()", False),
        ("kappa = (po - pe) / (1 - pe)", False),
        ("f1 = p * r / (p + r)", True),
        ("f1 = 2 * p * r / (p + r)", False),
        ("f1 = 2 * p * r / np.maximum(p * r, 1e-9)", True),
        ("f1 = 2 * (p * r) / (p + r + 1e-9)", False),
        ("f1 = 2 / (1 / p + 1 / r)", False),
        ("scale = p * r / (p + r)", False),
        ("mrr = 1.0 / (rank + 1).float().mean()", True),
        ("mrr = (1.0 / (rank + 1)).mean()", False),
        ("union = table.sum(1) + table.sum(1) - hit", True),
        ("union = table.sum(0) + table.sum(1) - hit", False),
        ("precision, recall = hit / table.sum(1), hit / table.sum(1)", True),
        ("precision, recall = hit / table.sum(0), hit / table.sum(1)", False),
        ("out = np.trace(table) / table.size", True),
        ("out = np.trace(table) / table.sum()", False),
        ("mae = np.abs((a - b).mean())", True),
        ("mae = np.abs(a - b).mean()", False),
        ("bias = np.abs((a - b).mean())", False),
    ],
)
def test_formula_of_the_name(line: str, told: bool) -> None:
    """A figure is what its name says, or the finding says why it is not."""
    assert (state("script-metric-miscounts", TEXT.format(line)) == "present") is told
