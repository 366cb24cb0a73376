"""Rows that are trained on and held out, and figures of both, told by the rows themselves."""

from __future__ import annotations

import ast

import pytest

from traindoctor.probes.code.shared.row_sets import DEPTH
from traindoctor.probes.code.shared.rows import Reader
from traindoctor.probes.scripts.syntax import Script

from .._scripts import state

SEES = "script-training-sees-evaluation"
FITS = "script-fits-before-split"
LEARNS = "script-learns-from-held-out"

HEAD = """
import numpy as np
import pandas as pd
import torch
from torch import nn
table = pd.read_csv("visits.csv")
rng = np.random.default_rng(0)
"""
TAIL = """
net = nn.Linear(4, 1)
opt = torch.optim.Adam(net.parameters())
for x, y in torch.utils.data.DataLoader(Visits(train)):
    opt.zero_grad()
    nn.functional.mse_loss(net(x), y).backward()
    opt.step()
with torch.no_grad():
    for x, y in torch.utils.data.DataLoader(Visits(val)):
        print(nn.functional.mse_loss(net(x), y))
"""
PATIENTS = """
ids = np.sort(table["patient"].unique())
rng.shuffle(ids)
n = len(ids)
"""


def of_patients(train: str, val: str) -> str:
    part = 'table[table["patient"].isin({})]'
    return f"{PATIENTS}train = {part.format(train)}\nval = {part.format(val)}\n"


@pytest.mark.parametrize(
    "body",
    [
        of_patients("ids[:int(0.8 * n)]", "ids[int(0.6 * n):]"),
        PATIENTS + "a, b = int(0.7 * n), int(0.85 * n)\n"
        "part = lambda group: table[table['patient'].isin(group)]\n"
        "train, val, test = part(ids[:b]), part(ids[a:b]), part(ids[b:])\n",
        "train = table[table['fold'] >= 0]\nval = table[table['fold'] == 3]\n",
        "def pick(rows, wanted):\n    return [r for r in rows if bucket(r) in wanted]\n"
        "train, val = pick(table, range(9)), pick(table, [8])\n",
    ],
)
def test_the_same_rows_are_in_both(body: str) -> None:
    assert state(SEES, HEAD + body + TAIL) == "present"


@pytest.mark.parametrize(
    "body",
    [
        of_patients("ids[:int(0.8 * n)]", "ids[int(0.8 * n):]"),
        "train = table[table['fold'] != 3]\nval = table[table['fold'] == 3]\n",
        "def pick(rows, wanted):\n    return [r for r in rows if bucket(r) in wanted]\n"
        "train, val = pick(table, range(8)), pick(table, [8])\n",
        PATIENTS + "held = set(ids[:40])\n"
        "train = table[~table['patient'].isin(held)]\nval = table[table['patient'].isin(held)]\n",
        # what is drawn of the rows is told elsewhere
        "train = table[table['site'] == site]\nval = table[table['year'] >= 2020]\n",
    ],
)
def test_other_rows_are_held_out(body: str) -> None:
    assert state(SEES, HEAD + body + TAIL) != "present"


SERIES = """
x = np.load("series.npy")
n1, n2 = int(0.7 * len(x)), int(0.85 * len(x))
{figures}
x = (x - m) / s
def cut(a, b):
    p = []
    for t in range(a + 10, b):
        p.append(x[t - 10:t])
    return torch.tensor(np.array(p))
xa, xv = cut({train}), cut({val})
net = nn.Linear(4, 1)
opt = torch.optim.Adam(net.parameters())
for i in range(100):
    opt.zero_grad()
    nn.functional.mse_loss(net(xa), xa[:, -1:]).backward()
    opt.step()
with torch.no_grad():
    print(nn.functional.mse_loss(net(xv), xv[:, -1:]))
"""


def series(figures: str, train: str = "0, n1", val: str = "n1, n2") -> str:
    return HEAD + SERIES.format(figures=figures, train=train, val=val)


@pytest.mark.parametrize(
    "script",
    [
        series("m, s = x.mean(0), x.std(0)"),
        series("m = np.nanmean(x[:n2], axis=0)\ns = np.nanstd(x[:n2], axis=0)"),
        HEAD + "from sklearn.preprocessing import StandardScaler\n"
        "train = table[table['fold'] != 3]\nval = table[table['fold'] == 3]\n"
        "COLS = ['age', 'fee']\nscaler = StandardScaler().fit(table[COLS])\n"
        "train = scaler.transform(train[COLS])\n" + TAIL,
    ],
)
def test_figures_of_both_parts(script: str) -> None:
    assert "present" in (state(SEES, script), state(FITS, script), state(LEARNS, script))


@pytest.mark.parametrize(
    "script",
    [
        series("m, s = x[:n1].mean(0), x[:n1].std(0)"),
        series("m = np.nanmean(x[:n1], axis=0)\ns = np.nanstd(x[:n1], axis=0)\nprint(x.mean(), x.std())"),
        series("m = x.mean(axis=1, keepdims=True)\ns = x.std(axis=1, keepdims=True)"),
        series("m, s = x[:n1].mean(0), x[:n1].std(0)", val="n1 - 10, n2"),
    ],
)
def test_figures_of_the_training_part(script: str) -> None:
    assert "present" not in (state(SEES, script), state(FITS, script))


def test_windows_that_begin_among_those_of_training() -> None:
    figures = "m, s = x[:n1].mean(0), x[:n1].std(0)"
    assert state(SEES, series(figures, val="n1 - 200, n2")) == "present"
    assert state(SEES, series(figures, train="0, n2")) == "present"


def test_a_loop_over_a_few_is_no_table() -> None:
    made = "envs = [make() for _ in range(4)]\ntrain = envs[:2]\nval = envs[1:]\n"
    assert state(SEES, HEAD + made + TAIL) != "present"


def test_folds_of_a_table_that_is_named_train() -> None:
    folds = """
train = pd.read_csv("train.csv")
for k in range(5):
    tr, va = train[train["fold"] != k].reset_index(drop=True), train[train["fold"] == k]
"""
    assert state(SEES, HEAD + folds + TAIL.replace("Visits(train)", "Visits(tr)")) != "present"


MANAGER = """
class Recordings(torch.utils.data.Dataset):
    def __init__(self, rows, augment=False):
        self.m_rows = rows
        self.m_augment = augment
    def __getitem__(self, i):
        x = self.m_rows[i]
        if {asked}:
            x = x * np.random.uniform(0.8, 1.2)
        return x

class Manager:
    def fit(self, rows):
        self.mean, self.std = rows.mean(0), rows.std(0)
    def scale(self, rows):
        return (rows - self.mean) / self.std
    def loader(self, rows, augment):
        return Recordings({scaled}, augment)

manager = Manager()
manager.fit(train_rows)
train, val = manager.loader(train_rows, True), manager.loader(val_rows, False)
"""


def test_a_switch_that_is_kept_under_another_name() -> None:
    def program(asked: str) -> str:
        return HEAD + MANAGER.format(asked=asked, scaled="self.scale(rows)") + TAIL

    assert state("script-evaluation-augmented", program("self.m_augment")) != "present"
    assert state("script-evaluation-augmented", program("True")) == "present"


def test_a_scaler_that_its_own_class_applies() -> None:
    def program(scaled: str) -> str:
        return HEAD + MANAGER.format(asked="self.m_augment", scaled=scaled) + TAIL

    assert state("script-scaling-unused", program("self.scale(rows)")) != "present"
    assert state("script-scaling-unused", program("rows")) == "present"


SPLIT = """
from sklearn.model_selection import GroupKFold, KFold
for rows, held in {splitter}(5).split(table, table["left"], groups=table["patient"]):
    train, val = table.iloc[rows], table.iloc[held]
"""


def test_a_splitter_that_ignores_its_groups() -> None:
    assert state(SEES, HEAD + SPLIT.format(splitter="KFold") + TAIL) == "present"
    assert state(SEES, HEAD + SPLIT.format(splitter="GroupKFold") + TAIL) != "present"
    plain = SPLIT.replace(', groups=table["patient"]', "")
    assert state(SEES, HEAD + plain.format(splitter="KFold") + TAIL) != "present"


GROUPS = """
import os, random
files = sorted(os.listdir("calls"))
animals = sorted({{f.split("_")[0] for f in files}})
random.Random(1).shuffle(animals)
{cut}
train, val = read(train_files), read(val_files)
"""


def test_groups_that_are_listed_and_left() -> None:
    by_file = "train_files, val_files = files[20:], files[:20]"
    by_animal = (
        "held = set(animals[:4])\n"
        "train_files = [f for f in files if f.split('_')[0] not in held]\n"
        "val_files = [f for f in files if f.split('_')[0] in held]"
    )
    assert state(SEES, HEAD + GROUPS.format(cut=by_file) + TAIL) == "present"
    assert state(SEES, HEAD + GROUPS.format(cut=by_animal) + TAIL) != "present"
    counted = GROUPS.replace("random.Random(1).shuffle(animals)", "print(len(animals))")
    assert state(SEES, HEAD + counted.format(cut=by_file) + TAIL) != "present"


def test_columns_but_the_ids() -> None:
    inputs = """
class CFG:
    target = "left"
COLS = [c for c in table.select_dtypes("number").columns if c not in ({named})]
x, y = table[COLS], table[CFG.target]
train, val = x[:800], x[800:]
"""
    assert state(SEES, HEAD + inputs.format(named='"id", "patient"') + TAIL) == "present"
    assert state(SEES, HEAD + inputs.format(named='"id", CFG.target') + TAIL) != "present"
    assert state(SEES, HEAD + inputs.format(named='"id", "left"') + TAIL) != "present"


STAGES = """
def prepare(raw):
    df = pd.read_csv(raw)
    wells = df.well.unique()
    rng.shuffle(wells)
    rest, train = df[df.well.isin(wells[:99])], df[~df.well.isin(wells[:99])]
    x = train[COLS].to_numpy()
    np.save("x.npy", x)
    rest.to_csv("{}")
def fit():
    net = nn.Linear(4, 1)
    opt = torch.optim.Adam(net.parameters())
    for x, y in torch.utils.data.DataLoader(Visits("x.npy")):
        opt.zero_grad()
        nn.functional.mse_loss(net(x), y).backward()
        opt.step()
    return net
def check(net):
    x = torch.tensor(pd.read_csv("rest.csv")[COLS].to_numpy())
    with torch.no_grad():
        print(net(x))
prepare("wells.csv")
check(fit())
"""


def test_a_name_of_two_functions() -> None:
    """`x` of one stage is not the `x` that another one scores."""
    assert state(SEES, HEAD + STAGES.format("rest.csv")) != "present"


def test_a_vocabulary_is_not_the_rows() -> None:
    text = """
train, valid = read("train.csv"), read("valid.csv")
valid = [r for r in valid if len(r["text"]) > 9]
train = [r for r in train if len(r["text"]) > 9]
vocab = Vocabulary([r["text"] for r in train])
valid_loader = torch.utils.data.DataLoader(Visits(valid, vocab))
train_loader = torch.utils.data.DataLoader(Visits(train, vocab))
def read(path):
    return list(csv.DictReader(open(path)))
"""
    assert state(SEES, HEAD + text + TAIL.replace("Visits(train)", "Visits(train, vocab)")) != "present"


def test_rows_are_told_whole_or_not_at_all() -> None:
    """Where a long way ends too soon, no guess stands in for what is at its end."""
    text = """
import pandas as pd
def read_table(path):
    table = pd.read_csv(path)
    table["tags"] = table["tags"].fillna("")
    return table
def part_by_place(table, share):
    places = sorted(table["place"].unique())
    rng.shuffle(places)
    n_val = int(len(places) * share)
    held_out = set(places[:n_val])
    is_val = table["place"].isin(held_out)
    return table[~is_val].reset_index(drop=True), table[is_val].reset_index(drop=True)
train, val = part_by_place(read_table("visits.csv"), 0.2)
use(train)
"""
    source = Script("train.py", text, ast.parse(text))
    asked = next(c for c in source.calls if ast.unparse(c) == "use(train)").args[0]
    whole = Reader(source).rows(asked)
    assert whole is not None
    assert len(whole.rows) == 800
    assert all(Reader(source).rows_in(asked, {}, depth) in (None, whole) for depth in range(4, DEPTH))


def test_rows_under_the_word_for_a_side() -> None:
    read = 'table = pd.read_csv("visits.csv")\nn = len(table)\n'
    parts = 'parts = {"train": table[: int(0.9 * n)], "val": table[int(CUT * n) :]}\n'
    loops = 'train, val = parts["train"], parts["val"]\n'
    right = state(SEES, HEAD + read + parts.replace("CUT", "0.9") + loops + TAIL)
    assert right != "present"
    assert state(SEES, HEAD + read + parts.replace("CUT", "0.4") + loops + TAIL) == "present"


SCORED = """
from sklearn.model_selection import train_test_split

def recall(net, query, answers, gallery, labels):
    QUIET:
        near = net(query) @ net(gallery).T
    return float((labels[near.argmax(1).numpy()] == answers).mean())

train, te = train_test_split(np.arange(1000), test_size=0.4, random_state=0)
gallery, query = te[: len(te) // 2], te[len(te) // 2 :]
net = nn.Linear(4, 8)
opt = torch.optim.Adam(net.parameters())
for step in range(900):
    rows = rng.choice(train, 64)
    opt.zero_grad()
    triplets(net(x[rows]), y[rows]).backward()
    opt.step()
    print(recall(net, x[query], y[query], x[gallery], y[gallery]), step)
"""


def test_what_a_function_without_gradients_is_given_is_not_learned_from() -> None:
    """It is called in the loop that learns, of query and gallery: two halves of what is held out."""
    text = HEAD + SCORED.replace("QUIET", "with torch.no_grad()")
    assert state(SEES, text) != "present"
    assert state(SEES, text.replace("rng.choice(train, 64)", "gallery[step % 100 :]")) == "present"


def test_rows_that_are_chosen_by_unknown_groups_are_not_all_rows() -> None:
    """`df[df["buoy"].isin(groups["train"])]`: some rows, whose figures say nothing of those held out."""
    text = """
def setup(path):
    df = pd.read_parquet(path)
    buoys = np.sort(df["buoy"].unique())
    n = len(buoys)
    groups = {"train": buoys[: int(0.7 * n)], "val": buoys[int(0.7 * n):]}
    base = df[df["buoy"].isin(groups["train"])]
"""
    source = Script("train.py", text, ast.parse(text))
    base = next(n for n in source.of(ast.Assign) if ast.unparse(n.targets[0]) == "base")
    found = Reader(source).rows(base.value)
    assert found is None or not found.whole


@pytest.mark.parametrize(
    ("first", "last", "meet"),
    [("rows[:400]", "rows[cut:]", False), ("rows[:cut]", "rows[cut:]", False), ("rows", "rows[700:]", True)],
)
def test_a_part_whose_bounds_are_not_known_has_no_rows_of_the_figures(
    first: str, last: str, meet: bool
) -> None:
    """`scale(rows[cut:], figures)`: the figures are of the other side, the rows are not."""
    program = f"""
import sys
import torch
from torch import nn
def scale(part, figures=None):
    values = torch.tensor([[float(v) for v in r] for r in part])
    figures = figures or (values.mean(0), values.std(0))
    return (values - figures[0]) / figures[1], figures
rows = read_rows("visits.csv")
cut = int(len(rows) * float(sys.argv[1]))
train, figures = scale({first})
val, _ = scale({last}, figures)
net = nn.Linear(4, 1)
opt = torch.optim.Adam(net.parameters())
for epoch in range(9):
    opt.zero_grad()
    loss = net(train).square().mean()
    loss.backward()
    opt.step()
with torch.no_grad():
    print(net(val).square().mean())
"""
    assert (state(SEES, program) == "present") is meet
