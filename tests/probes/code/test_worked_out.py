"""Figures worked out on small numbers, each slip beside the right ways in several hands."""

from __future__ import annotations

import ast

import pytest

from traindoctor.probes.code.evaluation.worked_out import worked_out_otherwise
from traindoctor.probes.scripts.syntax import Script

from .._scripts import state

LEARN = """
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F
def learn(model, loader, criterion, opt):
    for x, y in loader:
        criterion(model(x), y).backward()
        opt.step()
"""
SUMS = """
@torch.no_grad()
def check(model, loader):
    model.eval()
    a, b, n = 0.0, 0.0, 0
    m = {MEAN}
    for x, y in loader:
        p = model(x).squeeze(1)
        a += {A}
        b += {B}
        n += len(y)
    {OUT}
    return out
"""
LISTS = """
def check(model, loader):
    said, truth = [], []
    for x, y in loader:
        said.append(model(x).cpu().numpy())
        truth.append(y.numpy())
    p, y = np.concatenate(said), np.concatenate(truth)
    {OUT}
    return out
"""
TABLE = """
class Table:
    def __init__(self, n):
        self.n, self.grid = n, np.zeros((n, n))
    def add(self, target, pred):
        for t, p in zip(target.tolist(), pred.tolist()):
            self.grid[t, p] += 1
    def {NAME}(self):
        hit = np.diag(self.grid)
        {OUT}
"""
PURE = """
def {NAME}(y_true, y_pred):
    {OUT}
"""
COUNTED = """
def check(model, loader):
    tp = fp = fn = 0
    for x, y in loader:
        p = (model(x).sigmoid() > 0.5).long()
        tp += ((p == 1) & (y == 1)).sum().item()
        fp += {FP}
        fn += {FN}
    return 2 * tp / (2 * tp + fp + fn)
"""


def told(text: str) -> bool:
    return worked_out_otherwise(Script("train.py", LEARN + text, ast.parse(LEARN + text))) is not None


def test_the_probe_says_so() -> None:
    text = LEARN + PURE.replace("{NAME}", "accuracy").replace("{OUT}", "return (y_true != y_pred).mean()")
    assert state("script-metric-miscounts", text) == "present"
    assert state("script-metric-miscounts", text.replace("!=", "==")) != "present"


@pytest.mark.parametrize(
    ("one", "other", "line", "wrong"),
    [
        ("((p - y) ** 2).sum().item()", "((y - m) ** 2).sum().item()", "r2 = 1 - a / b", False),
        ("((p - y) ** 2).sum().item()", "((p - m) ** 2).sum().item()", "r2 = 1 - a / b", True),
        ("((p - y) ** 2).mean().item()", "((y - m) ** 2).sum().item()", "r2 = 1 - a / b", True),
        ("F.unknown(p, y).item()", "((y - m) ** 2).sum().item()", "r2 = 1 - a / b", False),
        ("((p - y) ** 2).sum().item()", "0", "rmse = (a / n) ** 0.5", False),
        ("((p - y) ** 2).mean().item()", "0", "rmse = (a / n) ** 0.5", True),
        ("((p - y) ** 2).mean().item()", "0", "rmse = (a / len(loader)) ** 0.5", False),
        ("((p - y) ** 2).mean().item() * len(y)", "0", "rmse = np.sqrt(a / len(loader.dataset))", False),
        ("(p - y).abs().sum().item()", "y.abs().sum().item()", "mape = 100 * a / b", False),
        ("(p - y).abs().sum().item()", "p.abs().sum().item()", "mape = 100 * a / b", True),
        ("((p - y).abs() / y.clamp(min=1e-6)).sum().item()", "0", "mape = a / max(n, 1)", False),
        ("((p - y).abs() / scale).sum().item()", "0", "mape = a / n", False),
    ],
)
def test_sums_over_batches(one: str, other: str, line: str, wrong: bool) -> None:
    mean = "loader.dataset.tensors[1].mean()" if "m)" not in other else "Y[lo:hi].mean()"
    text = SUMS.replace("{MEAN}", mean).replace("{A}", one).replace("{B}", other)
    name = line.split(" =")[0]
    assert told(text.replace("{OUT}", line).replace("return out", f"return {name}")) is wrong


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("mape = np.mean(np.abs(p - y) / y)", False),
        ("mape = np.mean(np.abs(p - y) / p)", True),
        ("mape = np.mean(np.abs((y - p) / np.maximum(y, 1e-3))) * 100", False),
        ("keep = y > 1\n    mape = np.mean(np.abs(p[keep] - y[keep]) / y[keep])", False),
        ("keep = y > 1\n    mape = np.mean(np.abs(p[keep] - y[keep]) / p[keep])", True),
        ("r2 = 1 - np.sum((y - p) ** 2) / np.sum((y - np.mean(y)) ** 2)", False),
        ("r2 = 1 - np.sum((y - p) ** 2) / np.sum((y - np.mean(p)) ** 2)", True),
        ("r2 = 1 - np.mean((y - p) ** 2) / np.mean((y - y.mean()) ** 2)", False),
        ("r2 = library(y, p)", False),
        ("adj_r2 = 1 - np.mean((y - p) ** 2) / np.mean((p - y.mean()) ** 2)", False),
    ],
)
def test_lists_that_are_joined(line: str, wrong: bool) -> None:
    assert told(LISTS.replace("{OUT}", line)) is wrong


@pytest.mark.parametrize(
    ("name", "lines", "wrong"),
    [
        ("iou", "return hit / (self.grid.sum(0) + self.grid.sum(1) - hit)", False),
        ("iou", "return hit / (self.grid.sum(0) + self.grid.sum(1))", True),
        ("miou", "u = self.grid.sum(0) + self.grid.sum(1) - hit\nreturn (hit / u).mean()", False),
        ("recall", "return hit / np.maximum(self.grid.sum(1), 1)", False),
        ("recall", "return hit / np.maximum(self.grid.sum(0), 1)", True),
        ("precision", "return (hit / self.grid.sum(axis=0)).mean()", False),
        ("precision", "return (hit / self.grid.sum(axis=1)).mean()", True),
        ("f1", "p, r = hit / self.grid.sum(0), hit / self.grid.sum(1)\nreturn 2 * p * r / (p + r)", False),
        ("f1", "p, r = hit / self.grid.sum(0), hit / self.grid.sum(1)\nreturn 2 * (p + r) / (p + r)", True),
        ("f1", "return 2 * hit / (self.grid.sum(0) + self.grid.sum(1))", False),
        ("accuracy", "return hit.sum() / self.grid.sum()", False),
    ],
)
def test_tables(name: str, lines: str, wrong: bool) -> None:
    assert told(TABLE.replace("{NAME}", name).replace("{OUT}", lines.replace("\n", "\n        "))) is wrong


@pytest.mark.parametrize(
    ("name", "lines", "wrong"),
    [
        ("r2", "return 1 - K.sum((y_true - y_pred) ** 2) / K.sum((y_true - K.mean(y_true)) ** 2)", False),
        ("r2", "return 1 - K.sum((y_true - y_pred) ** 2) / K.sum((y_pred - K.mean(y_true)) ** 2)", True),
        ("rmse", "return (((y_true - y_pred) ** 2).mean()) ** 0.5", False),
        ("rmse", "y_pred = y_pred.mean(0)\ne = y_pred - y_true\nreturn (e * e).mean() ** 0.5", False),
        ("accuracy", "return (y_true == y_pred).mean()", False),
        (
            "dice",
            "i = (y_true * y_pred).sum()\nreturn (2 * i + 1) / (y_true.sum() + y_pred.sum() + 1)",
            False,
        ),
        ("dice_loss", "i = (y_true * y_pred).sum()\nreturn 1 - i / (y_true.sum() + y_pred.sum())", False),
        ("iou", "i = (y_true & y_pred).sum()\nu = (y_true | y_pred).sum()\nreturn i / u", False),
        ("iou", "i = (y_true & y_pred).sum()\nu = (y_true & y_pred).sum() + 1\nreturn i / u", True),
        ("iou", "return boxes(y_true, y_pred) / area(y_true)", False),
    ],
)
def test_functions_of_two(name: str, lines: str, wrong: bool) -> None:
    assert told(PURE.replace("{NAME}", name).replace("{OUT}", lines.replace("\n", "\n    "))) is wrong


@pytest.mark.parametrize(
    ("fp", "fn", "wrong"),
    [
        ("((p == 1) & (y == 0)).sum().item()", "((p == 0) & (y == 1)).sum().item()", False),
        ("((p == 1) & (y == 0)).sum().item()", "((p == 1) & (y == 0)).sum().item()", True),
        ("((p == 0) & (y == 1)).sum().item()", "((p == 0) & (y == 1)).sum().item()", True),
        ("(p * (1 - y)).sum().item()", "((1 - p) * y).sum().item()", False),
        ("others(p, y)", "((p == 0) & (y == 1)).sum().item()", False),
    ],
)
def test_counts_by_name(fp: str, fn: str, wrong: bool) -> None:
    assert told(COUNTED.replace("{FP}", fp).replace("{FN}", fn)) is wrong


def test_counts_of_a_helper_in_a_loop() -> None:
    text = "def show(kinds):\n    for k in kinds:\n        tp, fp, fn = library(k)\n        {}\n"
    text = text.format("f1 = 2 * tp / (2 * tp + fp + fn)")
    assert not told(text)
    assert told(text.replace("(2 * tp + fp + fn)", "(tp + fp + fn)"))
