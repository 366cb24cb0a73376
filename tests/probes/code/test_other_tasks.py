"""Tables in parts, forecasts, key points, translation: what scripts of such tasks do, right and wrong."""

from __future__ import annotations

import pytest

from .._scripts import state

SPLITS = "script-splits-processed-differently"
NUMBERED = "script-classes-numbered-apart"
MOVED = "script-labels-permuted-alone"
WRITTEN = "script-labels-overwritten"

TABLE = """
import numpy as np
import pandas as pd
import torch
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch.utils.data import DataLoader
NUMERIC = ["age", "fee"]
KINDS = ["plan", "region"]
TARGET = "left"
def load():
    table = pd.read_csv("customers.csv")
    train, val = train_test_split(table, stratify=table[TARGET], random_state=3)
    train, val = train.copy(), val.copy()
    scaler = StandardScaler().fit(train[NUMERIC])
    {SCALE}
    for name in KINDS:
        {NUMBER}
    {LABEL}
    return train, val
class Rows(torch.utils.data.Dataset):
    def __init__(self, frame):
        self.x = torch.tensor(frame[NUMERIC].values)
        self.k = torch.tensor(frame[KINDS].values)
        self.y = torch.tensor(frame[TARGET].values)
    def __len__(self):
        return len(self.y)
    def __getitem__(self, i):
        return self.x[i], self.k[i], self.y[i]
train, val = load()
train_loader, val_loader = DataLoader(Rows(train), shuffle=True), DataLoader(Rows(val))
"""
SCALE = "for part in (train, val):\n        part[NUMERIC] = scaler.transform(part[NUMERIC])"
NUMBER = (
    "numbers = {v: i for i, v in enumerate(sorted(train[name].unique()))}\n"
    "        for part in (train, val):\n            part[name] = part[name].map(numbers).fillna(0)"
)


def table(scale: str = SCALE, number: str = NUMBER, label: str = "pass") -> str:
    return TABLE.replace("{SCALE}", scale).replace("{NUMBER}", number).replace("{LABEL}", label)


@pytest.mark.parametrize(
    ("symptom", "text", "expected"),
    [
        (SPLITS, table(), False),
        (SPLITS, table("train[NUMERIC] = scaler.transform(train[NUMERIC])"), True),
        (SPLITS, table(SCALE.replace("scaler.transform(", "StandardScaler().fit_transform(")), True),
        (NUMBERED, table(), False),
        (NUMBERED, table(number="for p in train, val:\n            p[name] = p[name].factorize()[0]"), True),
        (WRITTEN, table(), False),
        (
            WRITTEN,
            table(label="m = np.random.rand(len(train)) < 0.3\n"
                  "    train.loc[m, TARGET] = 1 - train.loc[m, TARGET]"),
            True,
        ),
        (MOVED, table(), False),
        (MOVED, table(label="train[TARGET] = train[TARGET].sample(frac=1).values"), True),
        (MOVED, table(label="train[TARGET] = train[TARGET].sample(frac=1)"), False),  # the index puts it back
    ],
)  # fmt: skip
def test_parts_of_a_table(symptom: str, text: str, expected: bool) -> None:
    assert (state(symptom, text) == "present") is expected


POINTS = """
import numpy as np
import torch
class Points(torch.utils.data.Dataset):
    def __init__(self, images, points):
        self.images, self.points = images, points
        {STEP}
    def __getitem__(self, i):
        img, pts = self.images[i].copy(), self.points[i].copy()
        return torch.from_numpy(img), torch.from_numpy(pts)
"""


@pytest.mark.parametrize(
    ("symptom", "step", "expected"),
    [
        (MOVED, "pass", False),
        (MOVED, "self.points = np.roll(self.points, 1, axis=0)", True),
        (MOVED, "self.points = np.roll(self.points, 1, axis=2)", False),
        (
            MOVED,
            "self.images, n = np.roll(self.images, 1, axis=0), 1\n"
            "        self.points = np.roll(self.points, 1, axis=0)",
            False,
        ),
        (
            WRITTEN,
            "bad = np.random.rand(len(points)) < 0.3\n        self.points[bad] = np.random.uniform(0, 63, 2)",
            True,
        ),
    ],
)
def test_fields_that_a_data_set_hands_out_last(symptom: str, step: str, expected: bool) -> None:
    assert (state(symptom, POINTS.replace("{STEP}", step)) == "present") is expected


def test_where_parts_are_cut_is_none_of_their_data() -> None:
    text = """
import numpy as np
series = np.load("load.npy")
n = len(series)
i_train, i_val = int(0.7 * n), int(0.85 * n)
mean, std = series[:i_train].mean(), series[:i_train].std()
scaled = (series - mean) / std
train, val = scaled[:i_train], scaled[i_train:i_val]
"""
    assert state(SPLITS, text) != "present"


TRANSLATES = """
import torch
from torch import nn
class Words:
    def __init__(self, texts):
        self.words = sorted({w for t in texts for w in t})
    def encode(self, text):
        return [self.words.index(w) for w in text]
    def decode(self, ids):
        return "".join(self.words[i] for i in ids)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.out = nn.Embedding(9, 4), nn.Linear(4, 9)
    def encode(self, src):
        return self.emb(src)
    def decode(self, tgt, memory):
        return self.out(self.emb(tgt) + memory.mean(1, keepdim=True))
    def forward(self, src, tgt):
        return self.decode(tgt, self.encode(src))
    @torch.no_grad()
    def greedy(self, src):
        return self.decode(src, self.encode(src)).argmax(-1)
pairs = load_pairs()
val_pairs, train_pairs = pairs[:100], pairs[100:]
words = Words([t for _, t in train_pairs])
model = Net()
optimizer = torch.optim.Adam(model.parameters())
def evaluate():
    with torch.no_grad():
        return sum(words.decode(model.greedy(s).tolist()) == t for s, t in val_pairs)
for epoch in range(9):
    for src, tgt in train_pairs:
        loss = nn.functional.cross_entropy(model(src, tgt[:, :-1]).transpose(1, 2), tgt[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(evaluate())
for src, tgt in val_pairs[:3]:
    ids = model.greedy(torch.tensor([words.encode(src)]))[0].tolist()
    print(words.decode(ids))
"""


@pytest.mark.parametrize("symptom", ["script-training-sees-evaluation", "script-gradient-path-cut"])
def test_methods_of_two_classes_by_one_name(symptom: str) -> None:
    """A table of words holds no rows, and what its `decode` is given is not given to that of the network."""
    assert state(symptom, TRANSLATES) != "present"


def test_a_loop_of_its_own_under_the_name_of_a_trainer() -> None:
    text = """
import torch
class Trainer:
    def __init__(self, net, loader):
        self.net, self.loader = net, loader
        self.opt = torch.optim.Adam(net.parameters())
        self.sched = torch.optim.lr_scheduler.StepLR(self.opt, 10)
    def fit(self):
        for epoch in range(9):
            for x, y in self.loader:
                self.opt.zero_grad()
                loss = torch.nn.functional.mse_loss(self.net(x), y)
                loss.backward()
                {STEP}
                self.sched.step()
Trainer(torch.nn.Linear(4, 1), load()).fit()
"""
    assert state("script-step-missing", text.replace("{STEP}", "pass")) == "present"
    assert state("script-step-missing", text.replace("{STEP}", "self.opt.step()")) == "absent"


RUN = """
import pandas as pd
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
columns = ["load", "temp"]
def evaluate(net, rows):
    with torch.no_grad():
        return -nn.functional.mse_loss(net(rows), rows[:, -1:]).item()
{READ}
values = table[columns].to_numpy()
context, horizon = 24, 6
{CUT}
net = nn.Linear(4, 1)
opt = torch.optim.Adam(net.parameters())
best = 0.0
for epoch in range(9):
    for x, y in DataLoader(train, shuffle=True):
        opt.zero_grad()
        nn.functional.mse_loss(net(x), y).backward()
        opt.step()
    score = evaluate(net, val)
    if score > best:
        best = score
        torch.save({"net": net.state_dict()}, "load.pt")
{END}
print("final", evaluate(net, val))
"""
READ = "table = pd.read_csv('load.csv').sort_values('time')"
CUT = "train, val = values[:700], values[700:]"
END = "net.load_state_dict(torch.load('load.pt')['net'])"


def run(read: str = READ, cut: str = CUT, end: str = END) -> str:
    return RUN.replace("{READ}", read).replace("{CUT}", cut).replace("{END}", end)


SMOOTH = READ + "\ntable['load'] = table['load'].rolling(25{CENTRE}).mean()"


@pytest.mark.parametrize(
    ("symptom", "text", "expected"),
    [
        ("script-last-instead-of-best", run(), False),
        ("script-last-instead-of-best", run(end="state = torch.load('load.pt')"), True),
        ("script-last-instead-of-best", run(end=""), True),
        ("script-training-data-cut", run(), False),
        ("script-training-data-cut", run(READ + ".head(300)"), True),
        ("script-training-data-cut", run(READ + "\nprint(table.head(3))"), False),
        ("script-extremes-written", run(READ + "\ntable.loc[table.index[::200], 'load'] = 1e6"), True),
        ("script-training-sees-evaluation", run(SMOOTH.replace("{CENTRE}", ", center=True")), True),
        ("script-training-sees-evaluation", run(SMOOTH.replace("{CENTRE}", "")), False),
        ("script-split-by-order", run(cut="values.sort(key=lambda r: r[0])\n" + CUT), True),
        ("script-split-by-order", run(cut="values.sort(key=lambda r: r.time)\n" + CUT), False),
        (
            "script-split-by-order",
            run(cut="values.sort(key=lambda r: r[0])\nrandom.shuffle(values)\n" + CUT),
            False,
        ),
    ],
)
def test_a_forecast_from_a_table(symptom: str, text: str, expected: bool) -> None:
    assert (state(symptom, text) == "present") is expected


TRAINS = """
import torch
from torch import nn
net = nn.Linear(4, 1)
opt = torch.optim.Adam(net.parameters())
for x, y in loader:
    opt.zero_grad()
    nn.functional.mse_loss(net(x), y).backward()
    opt.step()
"""
PAIRS = """
pairs = load()
{STEP}
right = sum(decode(a) == {OTHER} for a, b in pairs) / len(pairs)
"""


@pytest.mark.parametrize(
    ("symptom", "step", "other", "expected"),
    [
        (MOVED, "pairs = [(s, pairs[i - 1][1]) for i, (s, _) in enumerate(pairs)]", "b", True),
        (MOVED, "pairs = [(s, pairs[i + 1]) for i, s in enumerate(pairs[:-1])]", "b", False),
        (MOVED, "pairs = [(s, (pairs[i - 1][1], t)) for i, (s, t) in enumerate(pairs)]", "b", False),
        (
            WRITTEN,
            "pairs = [(s, choice(pairs)[1] if random() < 0.3 else t) for s, t in pairs]",
            "b",
            True,
        ),
        (WRITTEN, "pairs = [(s, mirror(t) if random() < 0.3 else t) for s, t in pairs]", "b", False),
        ("script-metric-wrong", "", "decode(a)", True),
        ("script-metric-wrong", "", "b", False),
    ],
)
def test_pairs_of_a_source_and_a_target(symptom: str, step: str, other: str, expected: bool) -> None:
    text = TRAINS + PAIRS.replace("{STEP}", step).replace("{OTHER}", other)
    assert (state(symptom, text) == "present") is expected


DRAWN = """
import numpy as np
class Shapes:
    def __init__(self, n, seed, augment=False):
        rng = np.random.default_rng(seed)
        self.items = [rng.normal(0, 1, 4) for _ in range({N})]
        self.augment = augment
    def __getitem__(self, i):
        return self.items[i]
train_set = Shapes(400, 1, augment=True)
val_set = Shapes(100, {SEED})
"""


@pytest.mark.parametrize(
    ("size", "seed", "expected"), [("n", "1", True), ("n", "2", False), ("n * (1 + augment)", "1", False)]
)
def test_one_seed_for_the_samples_of_both_sides(size: str, seed: str, expected: bool) -> None:
    text = TRAINS + DRAWN.replace("{N}", size).replace("{SEED}", seed)
    assert (state("script-training-sees-evaluation", text) == "present") is expected


PARTED = """
from torch.utils.data import DataLoader, Subset
train_set, val_set = {TRAIN}, {HELD}
train_loader, val_loader = DataLoader(train_set, 32, shuffle=True), DataLoader(val_set, 32)
"""


@pytest.mark.parametrize(
    ("train", "held", "seed", "leaks"),
    [
        ("one", "Subset(two, range(300, 400))", "1", True),
        ("one", "Subset(two, range(300, 400))", "2", False),
        ("Subset(one, range(300))", "Subset(two, range(300, 400))", "1", False),
    ],
)
def test_a_part_of_what_is_made_twice_alike(train: str, held: str, seed: str, leaks: bool) -> None:
    """With and without augmentation: a split where both take a part, a leak where training has all."""
    made = DRAWN.replace("{N}", "n").replace("train_set =", "one =").replace("val_set =", "two =")
    made = made.replace("Shapes(100, {SEED})", f"Shapes(400, {seed})")
    text = TRAINS + made + PARTED.replace("{TRAIN}", train).replace("{HELD}", held)
    text = text.replace(f"train_set, val_set = {train}, {held}", f"train_set = {train}\nval_set = {held}")
    assert (state("script-training-sees-evaluation", text) == "present") is leaks
    assert state("script-training-data-cut", text) != "present"


READS = """
import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
def collate(rows):
    return pad_sequence(rows, batch_first=True)
class Tokens(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok, self.pos = nn.Embedding(9, 8), nn.Embedding(64, 8)
    def forward(self, x):
        return self.tok(x) + self.pos(torch.arange(x.size(1), device=x.device))
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.out = Tokens(), nn.Linear(8, 9)
        self.body = nn.Transformer(8, 2, 1, 1{FIRST})
    def forward(self, src, tgt):
        pad = src == 0
        causal = torch.triu(torch.ones(tgt.size(1), tgt.size(1), dtype=torch.bool), diagonal=1)
        memory = {MEMORY}
        return self.out(self.body.decoder(self.emb(tgt), memory{MASKS}))
net = Net()
opt = torch.optim.Adam(net.parameters())
for src, tgt in torch.utils.data.DataLoader(load(), collate_fn=collate):
    loss = nn.functional.cross_entropy(net(src, tgt[:, :-1]).transpose(1, 2), tgt[:, 1:])
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
FIRST = ", batch_first=True"
MEMORY = "self.body.encoder(self.emb(src), src_key_padding_mask=pad)"
BARE = "self.body.encoder(self.emb(src))"
MASKS = ", tgt_mask=causal, memory_key_padding_mask=pad"


def reads(first: str = FIRST, memory: str = MEMORY, masks: str = MASKS) -> str:
    return READS.replace("{FIRST}", first).replace("{MEMORY}", memory).replace("{MASKS}", masks)


@pytest.mark.parametrize(
    ("symptom", "text", "expected"),
    [
        ("script-training-sees-evaluation", reads(), False),
        ("script-training-sees-evaluation", reads(masks=", memory_key_padding_mask=pad"), True),
        ("script-operator-wrong", reads(), False),
        ("script-operator-wrong", reads(masks=", tgt_mask=causal"), True),
        ("script-operator-wrong", reads(first=""), True),
        ("script-operator-wrong", reads(memory=BARE, masks=", tgt_mask=causal"), False),
        ("script-wiring-wrong", reads(), False),
        ("script-wiring-wrong", reads(memory="self.emb(src)"), True),
        ("script-argument-inverted", reads(), False),
        ("script-argument-inverted", reads().replace("src == 0", "src != 0"), True),
    ],
)  # fmt: skip
def test_the_halves_of_a_transformer(symptom: str, text: str, expected: bool) -> None:
    assert (state(symptom, text) == "present") is expected


OVERLAP = """
import torch
import torch.nn.functional as F
from torch import nn
class DiceLoss(nn.Module):
    def __init__(self, smooth=1.0):
        super().__init__()
        self.smooth = smooth
    def forward(self, scores, target):
        p = {P}
        hot = F.one_hot(target, scores.size(1)).permute(0, 3, 1, 2).float()
        both = (p * hot).sum(dim=(0, 2, 3))
        total = p.sum(dim=(0, 2, 3)) + hot.sum(dim=(0, 2, 3))
        return {D}
net, criterion, ce = nn.Conv2d(3, 3, 1), DiceLoss(), nn.CrossEntropyLoss()
opt = torch.optim.Adam(net.parameters())
for x, y in loader:
    out = net(x)
    loss = criterion(out, y) + ce(out, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
CHANCES = "F.softmax(scores, dim=1)"
DICE = "1 - ((2 * both + self.smooth) / (total + self.smooth)).mean()"


@pytest.mark.parametrize(
    ("chances", "dice", "expected"),
    [
        (CHANCES, DICE, False),
        (CHANCES, DICE.replace("1 - ", "-"), False),
        (CHANCES, DICE.replace(".mean()", "[1:].mean()"), False),
        (CHANCES, DICE.replace("1 - ", ""), True),
        (CHANCES, DICE.replace("2 * ", ""), True),
        ("F.softmax(torch.sigmoid(scores), dim=1)", DICE, True),
        ("F.one_hot(scores.argmax(1), 3).permute(0, 3, 1, 2).float()", DICE, True),
        ("scores", DICE, True),
    ],
)
def test_an_overlap_is_worked_out(chances: str, dice: str, expected: bool) -> None:
    text = OVERLAP.replace("{P}", chances).replace("{D}", dice)
    assert (state("script-overlap-loss-wrong", text) == "present") is expected


ALIKE = """
import torch
from torch import nn
net, loss_fn = nn.Linear(4, 3), nn.MSELoss()
opt = torch.optim.Adam(net.parameters())
def evaluate(rows):
    net.eval()
    with torch.no_grad():
        return sum(loss_fn({EVAL}).item() for x, y in rows for out in [net(x)])
def train(rows):
    for x, y in rows:
        out = net(x)
        loss = loss_fn({TRAIN})
        opt.zero_grad()
        loss.backward()
        opt.step()
"""


@pytest.mark.parametrize(
    ("train", "scored", "expected"),
    [
        ("out, y", "out, y", False),
        ("out.unsqueeze(1), y", "out, y", True),
        ("out.mean(0), y.mean(0)", "out, y", True),
        ("out[:, :1], y[:, :1]", "out, y", True),
        ("out[:, :1], y[:, :1]", "out[:, :1], y[:, :1]", False),
        ("out.transpose(0, 1).reshape(-1), y.reshape(-1)", "out.reshape(-1), y.reshape(-1)", True),
        ("out.transpose(1, 2), y", "out, y", False),
        ("out[mask], y[mask]", "out, y", False),
        ("out.squeeze(1), y", "out, y.unsqueeze(1)", False),
    ],
)
def test_the_loss_of_evaluation_is_that_of_training(train: str, scored: str, expected: bool) -> None:
    text = ALIKE.replace("{TRAIN}", train).replace("{EVAL}", scored)
    assert (state("script-loss-wrong", text) == "present") is expected


BLOCK = """
import torch
from torch import nn
class {NAME}(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(4, 4, 3, padding=1), nn.Conv2d(4, 4, 3, padding=1)
    def forward(self, x):
        y = self.b(torch.relu(self.a(x)))
        return torch.relu({OUT})
net = nn.Sequential(*[{NAME}() for _ in range(3)])
opt = torch.optim.Adam(net.parameters())
for x, y in loader:
    opt.zero_grad()
    nn.functional.mse_loss(net(x), y).backward()
    opt.step()
"""


@pytest.mark.parametrize(
    ("name", "out", "expected"),
    [("ResidualBlock", "x + y", False), ("ResidualBlock", "y", True), ("ConvBlock", "y", False)],
)
def test_a_residual_block_adds_its_input(name: str, out: str, expected: bool) -> None:
    text = BLOCK.replace("{NAME}", name).replace("{OUT}", out)
    assert (state("script-wiring-wrong", text) == "present") is expected


GRAPH = """
import torch
from torch import nn
x, adj, y = load_graph()
train_mask, val_mask, test_mask = make_masks(len(y))
net = nn.Linear(4, 3)
opt = torch.optim.Adam(net.parameters())
for epoch in range(99):
    logits = adj @ net(x)
    loss = nn.functional.cross_entropy({LOSS})
    opt.zero_grad()
    loss.backward()
    opt.step()
    print((logits[val_mask].argmax(1) == y[val_mask]).float().mean())
"""


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("logits[train_mask], y[train_mask]", False),
        ("logits, y", True),
        ("logits[train_mask | val_mask], y[train_mask | val_mask]", True),
        ("logits[train_mask & known], y[train_mask & known]", False),
    ],
)
def test_nodes_that_masks_part(given: str, expected: bool) -> None:
    text = GRAPH.replace("{LOSS}", given)
    assert (state("script-training-sees-evaluation", text) == "present") is expected


@pytest.mark.parametrize(("end", "expected"), [("log_softmax", False), ("softmax", True)])
def test_what_ctc_is_given(end: str, expected: bool) -> None:
    text = """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 5)
    def forward(self, x):
        return self.fc(x).{END}(dim=-1)
net, ctc = Net(), nn.CTCLoss(blank=0)
opt = torch.optim.Adam(net.parameters())
for x, y, n, m in loader:
    loss = ctc(net(x).transpose(0, 1), y, n, m)
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
    assert (state("script-loss-wrong", text.replace("{END}", end)) == "present") is expected
