"""Which rows statistics are taken of, held against a benchmark's that is written otherwise."""

from __future__ import annotations

import ast

import pytest

from traindoctor.probes.by_role.compare import told
from traindoctor.probes.scripts.syntax import Script

RIGHT = """
import pandas as pd
import torch
from sklearn.preprocessing import StandardScaler
def main():
    frame = pd.read_csv("tides.csv")
    x = frame[["a", "b"]].to_numpy()
    train_x, val_x = x[:800], x[800:]
    scaler = StandardScaler().fit(train_x)
    train_x, val_x = scaler.transform(train_x), scaler.transform(val_x)
"""
PORT = """
import numpy as np
import pandas as pd
import torch
COLUMNS = ["a", "b"]
def tables(path):
    table = pd.read_csv(path).sort_values("day")
    values = table[COLUMNS].interpolate().to_numpy(dtype=np.float32)
    cut = int(0.8 * len(values))
    first = values[:cut]
    mean, std = first.mean(axis=0), first.std(axis=0)
    scaled = (values - mean) / std
    return scaled[:cut], scaled[cut:]
def numbers_of(rows):
    return rows[:, 1:]
def part(rows):
    return rows[: len(rows) // 2]
def main():
    known, held = tables("tides.csv")
    losses = torch.zeros(3)
    mean_loss = losses.mean()
"""


def kinds(mine: str, theirs: str = RIGHT) -> set[str]:
    return {t.kind for t in told(*(Script("train.py", t, ast.parse(t)) for t in (mine, theirs)))}


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ("", "", False),
        ("first = values[:cut]", "first = values", True),
        ("first.mean(axis=0), first.std(axis=0)", "np.mean(values, 0), np.std(values, 0)", True),
        ("first = values[:cut]", "first = values[rows]", False),
        ("first = values[:cut]", "first = numbers_of(values)", True),
        ("first = values[:cut]", "first = part(values)", False),  # which takes some of the rows
        ("first = values[:cut]", "first = np.concatenate(parts)", False),
        ("pd.read_csv(path)", 'pd.read_csv("data/train.csv")', False),
        ("pd.read_csv(path)", "table_of(path)", False),
        (
            '    known, held = tables("tides.csv")',
            '    other = pd.read_csv("b.csv")',
            False,
        ),  # who knows which
    ],
)
def test_statistics_of_all_rows(old: str, new: str, wanted: bool) -> None:
    mine = (
        PORT.replace("first = values[:cut]", "first = values")
        if "read_csv" in old or "known" in old
        else PORT
    )
    assert old in mine
    assert ("statistics-fitted" in kinds(mine.replace(old, new) if old else mine)) == wanted


def test_the_benchmark_has_to_take_them_of_a_part() -> None:
    mine = PORT.replace("first = values[:cut]", "first = values")
    assert "statistics-fitted" not in kinds(mine, RIGHT.replace("fit(train_x)", "fit(x)"))
    assert "statistics-fitted" not in kinds(RIGHT, PORT)
    assert "statistics-fitted" in kinds(RIGHT.replace("fit(train_x)", "fit(x)"), PORT)
