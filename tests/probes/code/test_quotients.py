"""Figures that are quotients of counts, with and without a word on a count of zero."""

from __future__ import annotations

import pytest

from .._scripts import state

SCORE = """
import numpy as np
import torch
def score(net, loader, n):
    hits, seen = torch.zeros(n), torch.zeros(n)
    table = np.zeros((n, n))
    for x, y in loader:
        guess = net(x).argmax(1)
        for k in range(n):
            hits[k] += ((guess == y) & (y == k)).sum()
            seen[k] += (y == k).sum()
        table += count(guess, y)
    {LINES}
"""
F1 = """
import torch
def score(tp, fp, fn):
    p = tp / max(tp + fp, 1)
    r = tp / max(tp + fn, 1)
    {LINES}
"""


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ("recall = hits / seen\n    return recall.mean().item()", True),
        ("return (hits / seen).mean()", True),
        (
            "hit = np.diag(table)\n    union = table.sum(0) + table.sum(1) - hit\n    return (hit / union).mean()",  # noqa: E501
            True,
        ),
        ("iou = np.diag(table) / table.sum(axis=1)\n    return np.mean(iou)", True),
        ("recall = hits / seen.clamp(min=1)\n    return recall[seen > 0].mean().item()", False),
        ("recall = hits / seen\n    return recall[seen > 0].mean().item()", False),
        ("recall = hits / seen\n    return np.nanmean(recall)", False),
        ("recall = hits / (seen + 1e-8)\n    return recall.mean()", False),
        ("recall = hits / seen\n    return recall", False),
        ("return hits.sum() / seen.sum()", False),
    ],
)
def test_a_mean_over_classes_that_may_not_be_there(lines: str, found: bool) -> None:
    assert (state("script-count-may-be-zero", SCORE.replace("{LINES}", lines)) == "present") is found


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ("return 2 * p * r / (p + r)", True),
        ("f1 = 2 * (p * r) / (p + r)\n    return f1", True),
        ("return 2 * p * r / max(p + r, 1e-8)", False),
        ("return 2 * p * r / (p + r) if p + r else 0.0", False),
        ("return 2 * p * r / (p + r + 1e-8)", False),
        ("if p + r == 0:\n        return 0.0\n    return 2 * p * r / (p + r)", False),
        ("return p * 3 / (p + r)", False),
    ],
)
def test_precision_and_recall_that_are_both_zero(lines: str, found: bool) -> None:
    assert (state("script-count-may-be-zero", F1.replace("{LINES}", lines)) == "present") is found


def test_nothing_is_said_of_other_quotients() -> None:
    assert state("script-count-may-be-zero", "mean = total / len(rows)") == "unknown"
