"""One place of a right program on windows of a signal is changed: rows, scales, orders, what is scored."""

from __future__ import annotations

import pytest

from .._scripts import state

P, A, U = "present", "absent", "unknown"

RIGHT = """
import numpy as np, torch, torch.nn as nn, torch.nn.functional as F
from sklearn.metrics import f1_score
WIN, HOP = 128, 64
def windows(signal, kind, hop=HOP):
    xs, ys = [], []
    for start in range(0, len(signal) - WIN + 1, hop):
        stop = start + WIN
        xs.append(signal[start:stop])
        ys.append(kind[start + WIN // 2] - 1)
    return np.stack(xs), np.array(ys)
def build(subjects):
    tr_x, tr_y, va_x, va_y = [], [], [], []
    held = sorted(subjects)[-3:]
    for name, (signal, kind) in subjects.items():
        x, y = windows(signal, kind)
        (va_x if name in held else tr_x).append(x)
        (va_y if name in held else tr_y).append(y)
    return np.concatenate(tr_x), np.concatenate(tr_y), np.concatenate(va_x), np.concatenate(va_y)
def jitter(x):
    return x + 0.05 * torch.randn_like(x)
def batches(x, y, size, shuffle):
    order = torch.randperm(len(x)) if shuffle else torch.arange(len(x))
    for i in range(0, len(x), size):
        idx = order[i : i + size]
        yield x[idx], y[idx]
@torch.no_grad()
def tell(net, x, y):
    net.eval()
    gold, pred = [], []
    for xb, yb in batches(x, y, 512, shuffle=False):
        pred.extend(net(xb).argmax(1).tolist())
        gold.extend(yb.tolist())
    return f1_score(gold, pred, average="macro")
tr_x, tr_y, va_x, va_y = build(read_subjects("signals"))
mu, sd = tr_x.mean(axis=(0, 1)), tr_x.std(axis=(0, 1))
tr_x = (tr_x - mu) / sd
va_x = (va_x - mu) / sd
tr_x, va_x = torch.from_numpy(tr_x), torch.from_numpy(va_x)
tr_y, va_y = torch.from_numpy(tr_y), torch.from_numpy(va_y)
net = nn.Sequential(nn.Flatten(), nn.Linear(768, 6))
opt = torch.optim.Adam(net.parameters())
best = 0
for epoch in range(9):
    net.train()
    for xb, yb in batches(tr_x, tr_y, 128, shuffle=True):
        opt.zero_grad()
        loss = F.cross_entropy(net(jitter(xb)), yb)
        loss.backward()
        opt.step()
    f1 = tell(net, va_x, va_y)
    if f1 > best:
        best = f1
        torch.save(net.state_dict(), "best.pt")
"""
BOTH = "tr_x = (tr_x - mu) / sd\nva_x = (va_x - mu) / sd"
BUILT = RIGHT[RIGHT.index("    tr_x, tr_y") : RIGHT.index("x):\n    return x + 0.05")]
PARTED = """    x, y = zip(*(windows(s, k) for s, k in subjects.values()))
    x, y = np.concatenate(x), np.concatenate(y)
    order = np.random.permutation(len(x))
    cut = int(0.7 * len(x))
    return x[order[:cut]], y[order[:cut]], x[order[cut:]], y[order[cut:]]
def jitter("""
SPLITS = (
    "script-splits-processed-differently",
    "script-training-sees-evaluation",
    "script-labels-permuted-alone",
    "script-sample-torn-apart",
    "script-evaluation-augmented",
    "script-metric-miscounts",
    "script-range-mismatch",
    "script-no-shuffling",
    "script-best-chosen-wrongly",
    "script-evaluates-training-data",
)


@pytest.mark.parametrize(
    ("symptom", "old", "new"),
    [
        ("script-sample-torn-apart", "x[idx], y[idx]", "x[idx], y[i : i + size]"),
        ("script-labels-permuted-alone", "torch.from_numpy(tr_y)", "torch.from_numpy(np.sort(tr_y))"),
        ("script-labels-permuted-alone", "x + 0.05 * torch.randn_like(x)", "x[torch.randperm(len(x))]"),
        ("script-evaluation-augmented", "net(xb)", "net(jitter(xb))"),
        ("script-metric-miscounts", "f1_score(gold, pred", "f1_score(gold[-512:], pred[-512:]"),
        ("script-metric-miscounts", "batches(x, y, 512, shuffle=False)", "list(batches(x, y, 9, False))[1:]"),
        ("script-metric-miscounts", "    return f1_score", "    pred.sort()\n    return f1_score"),
        ("script-range-mismatch", BOTH, BOTH.replace("/", "*")),
        ("script-range-mismatch", "tr_x.std(", "tr_x.var("),
        ("script-no-shuffling", "128, shuffle=True", "128, shuffle=False"),
        ("script-best-chosen-wrongly", "if f1 > best:", "if f1 <= best or epoch == 0:"),
        ("script-evaluates-training-data", "tell(net, va_x, va_y)", "tell(net, tr_x, tr_y)"),
        ("script-training-sees-evaluation", BUILT, PARTED),
    ],
)  # fmt: skip
def test_what_is_changed_is_seen(symptom: str, old: str, new: str) -> None:
    assert old in RIGHT
    assert state(symptom, RIGHT.replace(old, new, 1)) == P


@pytest.mark.parametrize("symptom", SPLITS)
def test_the_right_program_is_silent(symptom: str) -> None:
    """Subjects that are divided by a condition within an append, and the middle of a window for its label."""
    assert state(symptom, RIGHT) != P


TABLE = """
import pandas as pd, torch
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit
from torch import nn
df = pd.read_csv("cells.csv").drop_duplicates("file")
a, b = next(GroupShuffleSplit(1, test_size=0.2).split(df, groups=df["patient"]))
rest, test = df.iloc[a], df.iloc[b]
c, d = next(GroupShuffleSplit(1, test_size=0.2).split(rest, groups=rest["patient"]))
train, val = rest.iloc[c], rest.iloc[d]
model = nn.Linear(3, 2)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in batches(train):
    opt.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    opt.step()
"""
GROUPED = 'GroupShuffleSplit(1, test_size=0.2).split(rest, groups=rest["patient"])'


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        (GROUPED, "ShuffleSplit(1).split(rest)", True),
        ('groups=rest["patient"]', "groups=rest.index", True),
        ('groups=rest["patient"]', 'groups=rest["file"]', True),
        ('groups=rest["patient"]', 'groups=rest["clinic"]', False),
        (f"next({GROUPED})", f"next({GROUPED} if ask else ShuffleSplit(1).split(rest))", False),
        ("", "", False),
    ],
)
def test_groups_that_one_split_does_not_heed(old: str, new: str, found: bool) -> None:
    program = TABLE.replace(old, new, 1) if old else TABLE
    assert (state("script-training-sees-evaluation", program) == P) is found


SIDES = """
import numpy as np, torch
from torch.utils.data import DataLoader, TensorDataset
x_train, y_train, x_val, y_val = (torch.load(n) for n in ("a", "b", "c", "d"))
x_train, x_val = x_train / 255, {HELD}
train_loader = DataLoader(TensorDataset(x_train, y_train), batch_size=8, shuffle=True)
val_loader = DataLoader(TensorDataset(x_val, y_val), batch_size=8)
"""


@pytest.mark.parametrize(
    ("held", "found"),
    [
        ("(x_val / 255)[:, [2, 3, 0, 1]]", True),
        ("(x_val / 255)[:, :, ::-1]", True),
        ("(x_val / 255)[::-1]", False),
        ("x_val / 255", False),
    ],
)
def test_columns_of_one_side_in_another_order(held: str, found: bool) -> None:
    program = SIDES.replace("{HELD}", held)
    assert (state("script-splits-processed-differently", program) == P) is found


def test_an_order_that_no_part_is_taken_by_is_not_known() -> None:
    assert state("script-sample-torn-apart", "import torch\nx = torch.zeros(3)\n") in (A, U)


HISTORIES = """
import json, torch
from torch.utils.data import DataLoader, Dataset
def read(path):
    kept = {}
    for line in open(path):
        event = json.loads(line)
        kept.setdefault(event["user"], []).append(event["item"])
    return {u: v for u, v in kept.items() if len(v) >= 5}
def last_out(histories):
    train, val = [], []
    for user in sorted(histories):
        seq = histories[user]
        train.append(seq[:-1])
        val.append((seq[:-1], seq[-1]))
    return train, val
class Rows(Dataset):
    def __init__(self, rows):
        self.rows = rows
    def __getitem__(self, i):
        return torch.tensor(self.rows[i][:-1]), torch.tensor(self.rows[i][1:])
class Pairs(Rows):
    def __getitem__(self, i):
        seq, target = self.rows[i]
        return torch.tensor(seq), target
train, val = last_out(read("events.jsonl"))
train_loader = DataLoader(Rows(train), 32, shuffle=True)
val_loader = DataLoader(Pairs(val), 32)
"""


@pytest.mark.parametrize("symptom", SPLITS[:2])
def test_the_last_of_each_history_is_held_out_and_all_is_silent(symptom: str) -> None:
    """Both sides come out of one call that goes over all users: their rows are no part of the other's."""
    assert state(symptom, HISTORIES) != P


NET = """
net = nn.Embedding(9, 9, padding_idx=0)
optimizer = torch.optim.Adam(net.parameters())
loss_fn = nn.CrossEntropyLoss({IGNORED})
for x, y in train_loader:
    optimizer.zero_grad()
    out = net(x)
    loss_fn(out.reshape(-1, 9), y.reshape(-1)).backward()
    optimizer.step()
"""
TAUGHT = HISTORIES.replace("import json, torch", "import json, torch\nfrom torch import nn") + NET
FILLED = TAUGHT.replace(
    "class Rows", "def pad(seq, n):\n    return [0] * (n - len(seq)) + seq\nclass Rows"
).replace(
    "torch.tensor(self.rows[i][:-1]), torch.tensor(self.rows[i][1:])",
    "torch.tensor(pad(self.rows[i][:-1], 8)), torch.tensor(pad(self.rows[i][1:], 8))",
)


@pytest.mark.parametrize(
    ("symptom", "program", "old", "new", "found"),
    [
        ("script-training-sees-evaluation", TAUGHT, "train.append(seq[:-1])", "train.append(seq)", True),
        ("script-training-sees-evaluation", TAUGHT, "(seq[:-1], seq[-1])", "(seq[:-1], seq[-2])", True),
        ("script-training-sees-evaluation", TAUGHT, "(seq[:-1], seq[-1])", "(seq[:-2], seq[-1])", False),
        ("script-sample-torn-apart", TAUGHT, "self.rows[i][1:]", "self.rows[i][:-1]", True),
        ("script-label-padding-counts", FILLED, "{IGNORED}", "", True),
        ("script-label-padding-counts", FILLED, "{IGNORED}", "ignore_index=0", False),
    ],
)  # fmt: skip
def test_histories_and_their_places(symptom: str, program: str, old: str, new: str, found: bool) -> None:
    assert old in program
    assert (state(symptom, program.replace(old, new, 1).replace("{IGNORED}", "")) == P) is found


READER = """
import torch
from torch import nn
class Texts:
    def __init__(self, rows, max_len):
        self.rows = [r[:max_len] for r in rows]
def read_rows(path):
    rows = []
    for line in open(path):
        {STOP}
        rows.append(line)
    return {BACK}
train_rows, dev_rows = read_rows("a"), read_rows("b")
train_set, dev_set = Texts(train_rows, 48), Texts(dev_rows, {LENGTH})
"""


@pytest.mark.parametrize(
    ("symptom", "stop", "back", "length", "found"),
    [
        ("script-training-data-cut", "if len(rows) > 200: break", "rows", "48", True),
        ("script-training-data-cut", "pass", "rows[:64]", "48", True),
        ("script-training-data-cut", "if len(rows) > 200000: break", "rows", "48", False),
        ("script-splits-processed-differently", "pass", "rows", "5", True),
        ("script-splits-processed-differently", "pass", "rows", "64", False),
    ],
)
def test_what_is_read_of_rows(symptom: str, stop: str, back: str, length: str, found: bool) -> None:
    text = READER.replace("{STOP}", stop).replace("{BACK}", back).replace("{LENGTH}", length)
    assert (state(symptom, text) == P) is found


FOLD = """
import torch
from torch import nn
def train_fold(x_tr, y_tr, x_va, y_va):
    mean, std = x_tr.mean(0), x_tr.std(0) + 1e-6
    x_tr, x_va = (x_tr - mean) / std, {HELD}
    net = nn.Linear(9, 1)
    opt = torch.optim.Adam(net.parameters())
    for chunk in torch.randperm(len(x_tr)).split(64):
        loss = nn.functional.mse_loss(net(x_tr[chunk]), y_tr[chunk])
        opt.zero_grad()
        loss.backward()
        opt.step()
    return rmse_of(net, x_va, y_va)
def rmse_of(net, x, y):
    net.eval()
    with torch.no_grad():
        pred = net(x)
    return ((pred - y) ** 2).mean().sqrt()
"""


@pytest.mark.parametrize(("held", "found"), [("(x_va - mean) / std", False), ("x_va", True)])
def test_what_training_makes_ready_for_the_function_that_scores(held: str, found: bool) -> None:
    program = FOLD.replace("{HELD}", held)
    assert (state("script-splits-processed-differently", program) == P) is found
