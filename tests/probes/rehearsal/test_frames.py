"""Tables, lists of files and parts in a rehearsal: which rows a program's names hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from traindoctor.probes.rehearsal.machine import Machine
from traindoctor.probes.scripts.project import programs

HEAD = """
import csv, glob, json, random
import numpy as np
import pandas as pd
import torch
from pathlib import Path
from sklearn.model_selection import train_test_split, GroupKFold, KFold
from sklearn.preprocessing import StandardScaler
df = pd.read_csv("rows.csv")
rng = np.random.default_rng(0)
"""


def names(text: str) -> dict[str, Any]:
    (source,) = programs({"train.py": HEAD + text})
    machine = Machine(source)
    machine.run()
    assert machine.journal.ended == "whole"
    return {**machine.top.names, "<machine>": machine}


def rows(value: Any) -> set[int]:
    held = value if isinstance(value, list) else [value]
    assert not any(h.vague for h in held)
    return {int(r) for h in held for r in np.atleast_1d(h.rows)}


APART = {
    "years": "train = df[df.year < 2019]\nval = df[df['year'] >= 2019]",
    "years of a date": "y = df['date'].dt.year\ntrain = df[y < 2019]\nval = df.loc[y >= 2019]",
    "split column": "train = df[df['split'] == 'train']\nval = df[df['split'].isin(['val'])]",
    "query": "train = df.query('fold != 3')\nval = df.query('fold == 3')",
    "not a flag": "val = df[df['is_val']]\ntrain = df[~(df['is_val'] == True)]",
    "sample and drop": "train = df.sample(frac=.8, random_state=1)\nval = df.drop(train.index)",
    "sorted cut": "df = df.sort_values('day').reset_index()\ntrain, val = df[:180], df[180:]",
    "two parts": "train, val = train_test_split(df, test_size=.2, random_state=3)",
    "a mask of draws": "k = rng.permutation(len(df))\ntrain, val = df.iloc[k[:150]], df.iloc[k[150:]]",
    "lists of files": "fs = list(Path('a').glob('*.png'))\nrandom.shuffle(fs)\ntrain, val = fs[:30], fs[30:]",
    "lines": "rs = [json.loads(l) for l in open('a.jsonl')]\n"
    "train = [r for r in rs if r['part'] == 'train']\nval = [r for r in rs if r['part'] == 'test']",
    "records": "with open('a.csv') as f:\n    rs = list(csv.DictReader(f))\ntrain, val = rs[::2], rs[1::2]",
    "folds": "for a, b in KFold(5, shuffle=True).split(df):\n    train, val = df.iloc[a], df.iloc[b]",
}


@pytest.mark.parametrize("how", sorted(APART))
def test_parts_that_share_no_row(how: str) -> None:
    held = names(APART[how])
    train, val = rows(held["train"]), rows(held["val"])
    assert train and val and not train & val


@pytest.mark.parametrize(
    "text",
    [
        "train = df[df.year < 2019]\nval = df[df.year >= 2017]",
        "train = df.sample(frac=.9)\nval = df.sample(frac=.5)",
        "train, val = df.iloc[:200], df.iloc[100:]",
        "train = df\nval = df[df.split == 'val']",
        "a, val = train_test_split(df, random_state=1)\ntrain, b = train_test_split(df, random_state=2)",
    ],
)
def test_parts_that_share_rows(text: str) -> None:
    held = names(text)
    assert rows(held["train"]) & rows(held["val"])


@pytest.mark.parametrize(
    "text",
    [
        "part = df[df.patient.isin(chosen)]",
        "part = df[df.date < cut()]\nother = df[df.date.dt.year == 3]\npart = other",
        "part = df.query('a < @b + c')",
        "part = [r for r in [json.loads(l) for l in open('a')] if r['id'] in wanted][0]",
    ],
)
def test_rows_that_are_not_known_are_a_guess(text: str) -> None:
    assert names(text)["part"].vague


def test_columns_and_what_is_taken_out() -> None:
    held = names(
        "x = df.drop(columns=['label', 'id']).values\ny = df.label.to_numpy()\nz = df[['a', 'label']].values"
    )
    assert held["y"].held == {"rows.csv#label"}
    assert {"rows.csv#!label", "rows.csv#*"} <= held["x"].held
    assert held["z"].held == {"rows.csv#a", "rows.csv#label"}


def test_statistics_know_their_rows() -> None:
    held = names(
        "x = df[['a', 'b']].to_numpy()\ntr, va = x[:180], x[180:]\nmean, std = tr.mean(0), tr.std(0)\n"
        "tr = (tr - mean) / std\nva = (va - mean) / std\n"
        "sc = StandardScaler().fit(x)\nall_ = sc.transform(x)\nrow = tr - tr.mean(axis=1)\n"
    )
    machine = held["<machine>"]
    assert held["va"].fits == held["tr"].fits and len(held["va"].fits) == 2
    assert all(len(machine.fits[n].rows) == 180 for n in held["va"].fits)
    (whole,) = held["all_"].fits
    assert len(machine.fits[whole].rows) == 240
    assert held["row"].fits == held["tr"].fits
