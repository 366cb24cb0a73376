"""Parts of the data that are one and the same, rows that do not belong together, sets that stay empty."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from traindoctor.probes.code.evaluation.never_added import asked_and_never_filled
from traindoctor.probes.code.samples.orders_kept import same_order_each_epoch
from traindoctor.probes.code.samples.rows_unlike import (
    inputs_and_targets_by_other_rows,
    sides_of_picture_exchanged,
)
from traindoctor.probes.code.splits.same_file import (
    figures_of_the_whole,
    scaler_of_the_whole,
    training_file_for_held_out,
    validated_on_the_test_part,
)
from traindoctor.probes.registry import Finding
from traindoctor.probes.scripts.syntax import Script

FILES = """
def rows(listing, learns):
    return open(listing), learns
train_rows = rows("lists/train.txt", True)
valid_rows = rows({valid}, False)
test_rows = rows("lists/test.txt", False)
"""
SPLITS = """
from sklearn.model_selection import train_test_split
a, te_x, b, te_y = train_test_split(x, y, test_size=0.2, random_state=1)
tr_x, va_x, tr_y, va_y = train_test_split({whole}, test_size=0.2, random_state={seed})
"""
FIGURES = """
def main(v):
    a = int(len(v) * 0.8)
    scale = Scale({of}.mean(0), {of}.std(0))
    v = scale.there(v)
    learn(windows(v[:a]))
    return judge(windows(v[a:]))
"""
ROWS = """
import numpy as np
x, y = windows(table)
for epoch in range(9):
    perm = np.random.permutation(len(x))
    for i in range(0, len(x), 32):
        take = perm[i : i + 32]
        step(net, x[take], {targets})
"""
OWN = """
import torch
def scaler(t):
    m, s = t.mean(0), t.std(0)
    return lambda z: (z - m) / s
def prepare(table, seed):
    order = torch.randperm(len(table))
    a = int(0.8 * len(order))
    parts = order[:a], order[a:]
    scale = scaler({given})
    pick = lambda idx: scale(table[idx])
    return [pick(p) for p in parts]
"""
FOLDS = """
def load(x, folds):
    mean, std = {of}.mean(0), {of}.std(0)
    x = (x - mean) / std
    sets = []
    for fold in (0, 1, 2):
        at = folds == fold
        sets.append(x[at])
    return sets
"""
BOXES = """
import torch
class Found(torch.utils.data.Dataset):
    def __getitem__(self, i):
        pixels, {beside} = self.rows[i]
        return torch.from_numpy(pixels).permute({order}), torch.from_numpy({beside})
"""
TAKEN = """
def matched(found, truths):
    hits = 0
    taken = set()
    for f in found:
        j = int(overlap(f, truths).argmax())
        if j not in taken:
            hits += 1
            {fill}
    return hits
"""
ORDER = """
import tensorflow as tf
from sklearn.model_selection import train_test_split
train, test = train_test_split(files)
def stream(files, training):
    ds = tf.data.Dataset.from_tensor_slices(files).map(read)
    if training:
        ds = ds{shuffle}.map(change)
    return ds.batch(8)
net.fit(stream(train, True), validation_data=stream(test, False), epochs={epochs})
"""

CASES: list[tuple[Callable[[Script], Finding | None], str, bool]] = [
    (training_file_for_held_out, FILES.format(valid='"lists/train.txt"'), True),
    (training_file_for_held_out, FILES.format(valid='"lists/valid.txt"'), False),
    (training_file_for_held_out, FILES.format(valid='"lists/all.txt"'), False),
    (
        training_file_for_held_out,
        FILES.format(valid='"lists/train.txt"').replace('"lists/test.txt"', '"lists/train.txt"'),
        False,
    ),
    (validated_on_the_test_part, SPLITS.format(whole="x, y", seed=1), True),
    (validated_on_the_test_part, SPLITS.format(whole="a, b", seed=1), False),
    (validated_on_the_test_part, SPLITS.format(whole="x, z", seed=1), False),
    (
        validated_on_the_test_part,
        SPLITS.format(whole="x, y", seed=1).replace("a, te_x, b", "x, te_x, y"),
        False,
    ),
    (figures_of_the_whole, FIGURES.format(of="v"), True),
    (figures_of_the_whole, FIGURES.format(of="v[:a]"), False),
    (figures_of_the_whole, FIGURES.format(of="first"), False),
    (figures_of_the_whole, FIGURES.format(of="v").replace("v = scale.there(v)", "keep(scale)"), False),
    (figures_of_the_whole, FIGURES.format(of="v").replace("v[a:]", "other"), False),
    (scaler_of_the_whole, OWN.format(given="table"), True),
    (scaler_of_the_whole, OWN.format(given="table[parts[0]]"), False),
    (scaler_of_the_whole, OWN.format(given="table").replace("order[:a], order[a:]", "order.split(8)"), False),
    (scaler_of_the_whole, OWN.format(given="table").replace("table", "train_x"), False),
    (scaler_of_the_whole, OWN.format(given="other"), False),
    (figures_of_the_whole, FOLDS.format(of="x"), True),
    (figures_of_the_whole, FOLDS.format(of="x[folds == 0]"), False),
    (figures_of_the_whole, FOLDS.format(of="x").replace("(0, 1, 2)", "range(9)"), False),
    (inputs_and_targets_by_other_rows, ROWS.format(targets="y[i : i + 32]"), True),
    (inputs_and_targets_by_other_rows, ROWS.format(targets="y[take]"), False),
    (inputs_and_targets_by_other_rows, ROWS.format(targets="y[perm[i : i + 32]]"), False),
    (inputs_and_targets_by_other_rows, ROWS.format(targets="z[i : i + 32]"), False),
    (sides_of_picture_exchanged, BOXES.format(beside="boxes", order="2, 1, 0"), True),
    (sides_of_picture_exchanged, BOXES.format(beside="mask", order="(2, 1, 0)"), True),
    (sides_of_picture_exchanged, BOXES.format(beside="boxes", order="2, 0, 1"), False),
    (sides_of_picture_exchanged, BOXES.format(beside="kind", order="2, 1, 0"), False),
    (asked_and_never_filled, TAKEN.format(fill="pass"), True),
    (asked_and_never_filled, TAKEN.format(fill="pass").replace("set()", "[]"), True),
    (asked_and_never_filled, TAKEN.format(fill="taken.add(j)"), False),
    (asked_and_never_filled, TAKEN.format(fill="note(taken, j)"), False),
    (asked_and_never_filled, TAKEN.format(fill="taken |= {j}"), False),
    (asked_and_never_filled, TAKEN.format(fill="pass").replace("set()", "set(seen)"), False),
    (same_order_each_epoch, ORDER.format(shuffle="", epochs=20), True),
    (same_order_each_epoch, ORDER.format(shuffle=".shuffle(900)", epochs=20), False),
    (same_order_each_epoch, ORDER.format(shuffle="", epochs=1), False),
    (
        same_order_each_epoch,
        ORDER.format(shuffle="", epochs=20).replace("(test, False)", "(test, True)"),
        False,
    ),
]


@pytest.mark.parametrize(("check", "text", "found"), CASES)
def test_found(check: Callable[[Script], Finding | None], text: str, found: bool) -> None:
    told = check(Script("train.py", text, ast.parse(text)))
    assert (told is not None and told.state.value == "present") is found
