"""Rows that a script learns from and scores, by a symbolic run: cuts, groups, folds, closures, classes."""

from __future__ import annotations

import ast
import textwrap

import pytest

from traindoctor.probes.code.splits.rows_flowed import (
    chosen_by_scored,
    figures_of_scored,
    scored_rows_learnt,
    traffic,
)
from traindoctor.probes.registry import Finding
from traindoctor.probes.scripts.syntax import Script

FLAT = """
    import numpy as np
    import torch
    a = np.loadtxt("rows.txt")
    c = int(0.8 * len(a))
    {cut}
    net = torch.nn.Linear(3, 1)
    opt = torch.optim.SGD(net.parameters(), 0.1)
    for e in range(9):
        for b in torch.randperm(len(fit)).split(32):
            loss = ((net(fit[b, :3]) - fit[b, 3:]) ** 2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        with torch.no_grad():
            print(((net(held[:, :3]) - held[:, 3:]) ** 2).mean())
"""

CLOSURES = """
    import csv
    import torch

    def rows(path):
        with open(path) as f:
            for row in csv.DictReader(f):
                yield row

    def make_step(net, opt):
        def step(x):
            loss = net(x).mean()
            loss.backward()
            opt.step()
        return step

    def make_check(net, x):
        def check():
            return net(x).mean()
        return check

    def pack(part):
        return torch.tensor([[float(r["a"])] for r in part])

    every = list(rows("birds.csv"))
    nests = sorted({{r["nest"] for r in every}})
    away = set(nests[::5])
    fit = [r for r in every if {keep}]
    held = [r for r in every if r["nest"] in away]
    net = torch.nn.Linear(1, 1)
    step = make_step(net, torch.optim.SGD(net.parameters(), 0.1))
    check = make_check(net, pack(held))
    for e in range(3):
        for x in pack({taught}).split(8):
            step(x)
        print(check())
"""

JAVA = """
    import pandas as pd
    import torch
    from torch.utils.data import DataLoader, Dataset

    class Rows(Dataset):
        def __init__(self, table):
            self._table = table
        def __len__(self):
            return len(self._table)
        def __getitem__(self, i):
            return torch.tensor(self._table.iloc[i, :3].values)

    class DataManager:
        def __init__(self, path):
            table = pd.read_csv(path)
            self._fit = table[{which}]
            self._held = table[table["year"] >= 2020]
        def getFit(self):
            return DataLoader(Rows(self._fit), batch_size=8, shuffle=True)
        def getHeld(self):
            return DataLoader(Rows(self._held), batch_size=8)

    class Trainer:
        def __init__(self, data):
            self._data = data
            self._net = torch.nn.Linear(3, 1)
            self._opt = torch.optim.SGD(self._net.parameters(), 0.1)
        def train(self):
            for x in self._data.getFit():
                loss = self._net(x).mean()
                loss.backward()
                self._opt.step()
        def score(self):
            with torch.no_grad():
                return sum(self._net(x).mean() for x in self._data.{getter}())

    trainer = Trainer(DataManager("years.csv"))
    for e in range(3):
        trainer.train()
        print(trainer.score())
"""


def script(text: str) -> Script:
    text = textwrap.dedent(text)
    return Script("train.py", text, ast.parse(text))


def state(found: Finding | None) -> str:
    return "unknown" if found is None else str(found.state.value)


@pytest.mark.parametrize(
    ("cut", "wanted"),
    [
        ("fit, held = a[:c], a[c:]", "absent"),
        ("fit, held = a[: -(len(a) - c)], a[c:]", "absent"),
        ("w = np.random.permutation(len(a))\nfit, held = a[w[:c]], a[w[c:]]", "absent"),
        ("fit, held = a[:c], a[c - 120 :]", "absent"),  # a window of context that reaches back
        ("fit, held = a[a[:, 0] < 3], a[a[:, 0] >= 3]", "absent"),
        ("fit, held = a[a[:, 0] < 6], a[a[:, 0] == 6]", "absent"),
        ("fit, held = a[a[:, 0] <= 6], a[a[:, 0] == 6]", "present"),
        ("is_held = np.arange(len(a)) % 5 == 0\nfit, held = a[~is_held], a[is_held]", "absent"),
        ("fit, held = a, a[c:]", "present"),
        ("fit, held = a[:c], a[c // 2 : c]", "present"),
        ("w = np.random.permutation(len(a))\nfit, held = a[w], a[w[c:]]", "present"),
        ("fit, held = a[:50000], a[-10000:]", "absent"),
        ("fit, held = a[:50000], a[-300:]", "absent"),
        ("fit, held = a[:-300], a[-300:]", "absent"),
        ("fit, held = a[: len(a) - 300], a[-300:]", "absent"),
        ("fit, held = a[:-100], a[-500:]", "present"),
        ("fit, held = a[:5200], a[900:5200]", "present"),
        ("fit, held = a[:900], a[900:1300]", "absent"),
        ("fit, held = torch.split(a, [1300, 200])", "absent"),
        ("fit, held = np.split(a, [1300])", "absent"),
        ("fit, held = a[:c], a[keep(a)]", "unknown"),
        ("fit, held = a, a", "unknown"),
    ],
)
def test_cuts(cut: str, wanted: str) -> None:
    assert state(scored_rows_learnt(script(FLAT.format(cut=cut.replace("\n", "\n    "))))) == wanted


@pytest.mark.parametrize(
    ("keep", "taught", "wanted"),
    [
        ("r['nest'] not in away", "fit", "absent"),
        ("r['nest'] not in away", "every", "present"),
        ("r['nest'] in nests", "fit", "present"),
        ("good(r)", "fit", "unknown"),
    ],
)
def test_groups_through_closures(keep: str, taught: str, wanted: str) -> None:
    assert state(scored_rows_learnt(script(CLOSURES.format(keep=keep, taught=taught)))) == wanted


@pytest.mark.parametrize(
    ("which", "getter", "wanted"),
    [
        ('table["year"] < 2020', "getHeld", "absent"),
        ('table["year"] >= 2000', "getHeld", "present"),
        ('table["year"] < 2020', "getFit", "unknown"),  # the score of training itself
    ],
)
def test_conditions_through_managers(which: str, getter: str, wanted: str) -> None:
    assert state(scored_rows_learnt(script(JAVA.format(which=which, getter=getter)))) == wanted


def test_windows_dealt_by_chance() -> None:
    windows = "a = np.stack([a[i : i + 24] for i in range(len(a) - 24)])\nw = np.random.permutation(len(a))\n"
    dealt = windows + "c = int(0.8 * len(w))\nfit, held = a[w[:c]], a[w[c:]]"
    ordered = windows + "c = int(0.8 * len(w))\nfit, held = a[:c], a[c:]"
    mixed = ordered + "\nfit = fit[np.random.permutation(len(fit))]"
    for cut, wanted in ((dealt, "present"), (ordered, "absent"), (mixed, "absent")):
        assert state(scored_rows_learnt(script(FLAT.format(cut=cut.replace("\n", "\n    "))))) == wanted


@pytest.mark.parametrize(
    ("cut", "line"),
    [
        ("m, s = a[:c].mean(0), a[:c].std(0)\na = (a - m) / s\nfit, held = a[:c], a[c:]", False),
        ("m, s = a.mean(0), a.std(0)\na = (a - m) / s\nfit, held = a[:c], a[c:]", True),
        ("a = (a - a[:900].mean(0)) / a[:900].std(0)\nfit, held = a[:1300], a[1300:]", False),
        ("a = (a - a[:5200].mean(0)) / a[:5200].std(0)\nfit, held = a[:900], a[900:]", True),
        ("low, high = a.min(0), a.max(0)\na = (a - low) / (high - low)\nfit, held = a[:c], a[c:]", True),
        ("sc = StandardScaler()\nsc.fit(a[:c])\nfit, held = sc.transform(a[:c]), sc.transform(a[c:])", False),
        ("sc = StandardScaler()\nsc.fit(a)\nfit, held = sc.transform(a[:c]), sc.transform(a[c:])", True),
        ("a = a - a.mean(axis=1, keepdims=True)\nfit, held = a[:c], a[c:]", False),
        ("a = a - a.min()\nfit, held = a[:c], a[c:]", False),  # numbers that begin at nought
        ("a = np.where(np.isnan(a), np.nanmedian(a, 0), a)\nfit, held = a[:c], a[c:]", False),
    ],
)
def test_figures(cut: str, line: bool) -> None:
    found = figures_of_scored(script(FLAT.format(cut=cut.replace("\n", "\n    "))))
    assert (found is not None) == line


CHOICE = """
    import numpy as np
    import torch
    a = np.loadtxt("rows.txt")
    n1, n2 = int(0.7 * len(a)), int(0.85 * len(a))
    fit, val, test = a[:n1], a[n1:n2], a[n2:]
    net = torch.nn.Linear(3, 1)
    opt = torch.optim.SGD(net.parameters(), 0.1)
    def error(part):
        return float(net(part).mean())
    best = 9.0
    for e in range(9):
        loss = net(fit).mean()
        loss.backward()
        opt.step()
        v = error({inner})
        if v < best:
            best = v
    print(error({last}))
"""


@pytest.mark.parametrize(
    ("inner", "last", "wanted"),
    [
        ("val", "test", "absent"),
        ("test", "test", "present"),
        ("val", "val), error(test", "absent"),
        ("val", "val", "absent"),  # the test part is left for later
    ],
)
def test_choice(inner: str, last: str, wanted: str) -> None:
    assert state(chosen_by_scored(script(CHOICE.format(inner=inner, last=last)))) == wanted


def test_folds_are_judged_each_by_itself() -> None:
    text = """
        import pandas as pd
        import torch
        from sklearn.model_selection import GroupKFold
        df = pd.read_csv("x.csv")
        df["fold"] = -1
        for f, (_, va) in enumerate(GroupKFold(5).split(df, groups=df.who)):
            df.loc[va, "fold"] = f
        net = torch.nn.Linear(3, 1)
        opt = torch.optim.SGD(net.parameters(), 0.1)
        fit, held = df[df.fold {sign} 0], df[df.fold == 0]
        for e in range(3):
            net(torch.tensor(fit.values)).mean().backward()
            opt.step()
            print(net(torch.tensor(held.values)).mean())
    """
    assert state(scored_rows_learnt(script(text.format(sign="!=")))) == "absent"
    assert state(scored_rows_learnt(script(text.format(sign=">=")))) == "present"


def test_parts_of_a_loaded_dictionary() -> None:
    text = """
        from datasets import load_dataset
        from transformers import Trainer
        raw = load_dataset("json")
        data = raw.map(encode)
        Trainer(model=m, train_dataset=data["train"], eval_dataset={held}).train()
    """
    assert (
        state(scored_rows_learnt(script(text.format(held='data["train"].select(range(200))')))) == "present"
    )
    assert state(scored_rows_learnt(script(text.format(held='data["validation"]')))) == "unknown"


def test_a_while_loop_counts() -> None:
    text = FLAT.format(cut="fit, held = a[:c], a[c:]").replace(
        "        with torch.no_grad():\n            print(((net(held[:, :3]) - held[:, 3:]) ** 2).mean())",
        "        i = 0\n        while i < len(held):\n"
        "            print(net(held[i : i + 8]))\n            i += 8",
    )
    found = traffic(script(text))
    assert [len(r.all) for s in found.scored for r in s.rows] == [200]


SIZES = """
    import json
    import random
    import sys
    import torch
    import yaml

    settings = {settings}
    wide = settings["window"]

    class Lines(torch.utils.data.Dataset):
        def __init__(self, lines):
            self.lines = lines
        def __len__(self):
            return len(self.lines)
        def __getitem__(self, at):
            row = torch.{made}
            line = self.lines[at]
            row[: len(line)] = line[: wide + 1]
            return row[:-1], row[1:]

    table = {{c: i for i, c in enumerate(sorted(set(open("poems.txt").read())))}}
    lines = [torch.tensor([table[c] for c in line]) for line in open("poems.txt")]
    random.Random(3).shuffle(lines)
    c = int(settings["share"] * len(lines))
    fit, held = {parts}
    net = torch.nn.Embedding(400, 400)
    opt = torch.optim.SGD(net.parameters(), 0.1)
    for e in range(9):
        for x, y in torch.utils.data.DataLoader(Lines(fit), batch_size=8):
            loss = torch.nn.functional.cross_entropy(net(x).mT, y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        with torch.no_grad():
            for x, y in torch.utils.data.DataLoader(Lines(held), batch_size=8):
                print(torch.nn.functional.cross_entropy(net(x).mT, y))
"""


@pytest.mark.parametrize("made", ["full((wide + 1,), 1)", "zeros(wide + 1).long()"])
@pytest.mark.parametrize(
    "settings",
    [
        "yaml.safe_load(open(sys.argv[1]))",
        "json.load(open('settings.json'))",
        "yaml.load(sys.stdin, Loader=0)",
    ],
)
def test_a_file_of_settings_has_no_rows(settings: str, made: str) -> None:
    told = []
    for parts in ("lines[:c], lines[c:]", "lines[:-200], lines[-200:]", "lines, lines[-200:]"):
        text = SIZES.format(settings=settings, made=made, parts=parts)
        told.append(state(scored_rows_learnt(script(text))))
    assert told == ["unknown", "absent", "present"]
