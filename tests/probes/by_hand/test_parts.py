"""Functions that cut rows into parts or windows, tables and scales that are turned back, worked out."""

from __future__ import annotations

import ast

from traindoctor.probes.by_hand.inverses import classes_apart, turned_back_otherwise, words_apart
from traindoctor.probes.by_hand.parts import parts_that_meet, targets_inside_windows
from traindoctor.probes.scripts.syntax import Script

LAST_OUT = """
from collections import defaultdict
def leave_one_out(rows):
    history = defaultdict(list)
    for u, i, t in rows:
        history[u].append((t, i))
    train, valid = [], {}
    for u, events in history.items():
        events.sort()
        items = [i for _, i in events]
        train.extend((u, i) for i in items[:-1])
        valid[u] = items[-1]
    return train, valid
"""
SPLIT = """
import random
def split(items, val_ratio):
    items = list(items)
    random.shuffle(items)
    n = int(len(items) * val_ratio)
    val, train = items[:n], items[n:]
    return train, val
"""
WINDOWS = """
import numpy as np
LOOKBACK, HORIZON = 24, 6
def make_windows(values, target):
    xs, ys = [], []
    for start in range(len(values) - LOOKBACK - HORIZON + 1):
        stop = start + LOOKBACK
        xs.append(values[start:stop])
        ys.append(target[stop : stop + HORIZON])
    return np.asarray(xs, dtype="float32"), np.asarray(ys, dtype="float32")
"""
BACK = """
mean, std = table.mean(), table.std()
def unscale(y):
    return y * std + mean
print(unscale(model.predict(x)))
"""


def script(text: str) -> Script:
    return Script("train.py", text, ast.parse(text))


def test_parts() -> None:
    assert parts_that_meet(script(LAST_OUT)) is None
    assert parts_that_meet(script(SPLIT)) is None
    assert parts_that_meet(script(LAST_OUT.replace("items[:-1])", "items)")))
    assert parts_that_meet(script(SPLIT.replace("items[n:]", "items")))
    assert (
        parts_that_meet(script(SPLIT.replace("random.shuffle(items)", "prepare(items)"))) is None
    )  # unknown


def test_parts_by_groups() -> None:
    text = """
def split_by_site(tiles, val_frac=0.2):
    sites = sorted({t["site"] for t in tiles})
    held = set(sites[: int(len(sites) * val_frac)])
    train = [t for t in tiles if t["site"] not in held]
    val = [t for t in tiles if t["site"] in held]
    return train, val
"""
    assert parts_that_meet(script(text)) is None
    assert parts_that_meet(script(text.replace(' if t["site"] not in held', "")))
    text = """
import numpy as np
def split(groups):
    places = {}
    for i, g in enumerate(groups):
        places.setdefault(g, []).append(i)
    train, test = [], []
    for part in places.values():
        if len(train) < 60:
            train += part
        else:
            test += part
    return np.array(train), np.array(test)
"""
    assert parts_that_meet(script(text)) is None
    assert parts_that_meet(
        script(text.replace("        else:\n            test", "        if True:\n            test"))
    )
    kinds = "def split(labels):\n    return labels_of(labels)\n"
    assert parts_that_meet(script(kinds)) is None


def test_windows() -> None:
    assert targets_inside_windows(script(WINDOWS)) is None
    assert targets_inside_windows(
        script(WINDOWS.replace("target[stop : stop + HORIZON]", "target[stop - HORIZON : stop]"))
    )
    assert (
        targets_inside_windows(script(WINDOWS.replace("target[stop : stop", "values[start + 1 : stop")))
        is None
    )
    assert targets_inside_windows(script(WINDOWS.replace("len(values)", "count(values)"))) is None  # unknown


def test_tables() -> None:
    text = "LABELS = ['O', 'TOOL', 'PART']\nlabel2id = {n: i for i, n in enumerate(LABELS)}\n"
    assert classes_apart(script(text + "id2label = {i: n for n, i in label2id.items()}")) is None
    other = script(text + "id2label = {i: n for i, n in enumerate(sorted(LABELS))}")
    assert classes_apart(other)
    assert words_apart(other) is None
    words = "chars = sorted(set(open('a.txt').read()))\nstoi = {c: i for i, c in enumerate(chars)}\n"
    assert words_apart(script(words + "itos = {i: c for i, c in enumerate(chars)}")) is None
    assert words_apart(script(words + "itos = {i + 1: c for i, c in enumerate(chars)}"))
    assert words_apart(script(words + "itos = load()")) is None


def test_scales_turned_back() -> None:
    assert turned_back_otherwise(script(BACK)) is None
    assert turned_back_otherwise(script(BACK.replace("* std + mean", "* std - mean")))
    assert turned_back_otherwise(script(BACK.replace("* std + mean", "* std + mean + offset()"))) is None
