"""What two rehearsed programs do otherwise: what is told, what looks alike, what is not known."""

import pytest

from traindoctor.engine.model import Place
from traindoctor.probes.by_role.compare import in_effect
from traindoctor.probes.scripts.project import programs
from traindoctor.probes.scripts.syntax import Script

PLAIN = """
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

data = np.load("waves.npz")
x, y = torch.from_numpy(data["x"]), torch.from_numpy(data["y"])
cut = 180
mean, std = x[:cut].mean(0), x[:cut].std(0)
train = torch.utils.data.TensorDataset((x[:cut] - mean) / std, y[:cut])
val = torch.utils.data.TensorDataset((x[cut:] - mean) / std, y[cut:])
loader = torch.utils.data.DataLoader(train, batch_size=32, shuffle=True)
held = torch.utils.data.DataLoader(val, batch_size=32)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 3))
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
sched = torch.optim.lr_scheduler.StepLR(opt, 5, gamma=0.5)
for epoch in range(20):
    model.train()
    for a, b in loader:
        loss = F.cross_entropy(model(a), b)
        opt.zero_grad()
        loss.backward()
        opt.step()
    sched.step()
    model.eval()
    right = total = 0
    with torch.no_grad():
        for a, b in held:
            right += (model(a).argmax(1) == b).sum().item()
            total += len(b)
    print("val accuracy", right / total)
"""
SPLIT = """cut = 180
mean, std = x[:cut].mean(0), x[:cut].std(0)
train = torch.utils.data.TensorDataset((x[:cut] - mean) / std, y[:cut])
val = torch.utils.data.TensorDataset((x[cut:] - mean) / std, y[cut:])
"""
LOADERS = """loader = torch.utils.data.DataLoader(train, batch_size=32, shuffle=True)
held = torch.utils.data.DataLoader(val, batch_size=32)
"""
STEP = """        opt.zero_grad()
        loss.backward()
        opt.step()
"""


def script(*edits: tuple[str, str]) -> Script:
    """The program with edits."""
    text = PLAIN
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    (source,) = programs({"train.py": text})
    return source


def kinds(*edits: tuple[str, str]) -> list[str]:
    """What the edited program does otherwise."""
    return [t.kind for t in in_effect(script(*edits), script())]


OWN_STATISTICS = """cut = 180
def scaled(rows):
    return (rows - rows.mean(0)) / rows.std(0)
train = torch.utils.data.TensorDataset(scaled(x[:cut]), y[:cut])
val = torch.utils.data.TensorDataset(scaled(x[cut:]), y[cut:])
"""
ALL_STATISTICS = """def scaled(rows):
    return (rows - rows.mean(0)) / rows.std(0)
x, cut = scaled(x), 180
train = torch.utils.data.TensorDataset(x[:cut], y[:cut])
val = torch.utils.data.TensorDataset(x[cut:], y[cut:])
"""
EQUAL_STATISTICS = """def scaled(rows, by):
    return (rows - by.mean(0)) / by.std(0)
parts = {"train": slice(0, 180), "val": slice(180, None)}
made = {k: (scaled(x[p], x[parts["train"]]), y[p]) for k, p in parts.items()}
train, val = (torch.utils.data.TensorDataset(*made[k]) for k in ("train", "val"))
"""
SET = "def mode(net, on):\n    for part in net.children():\n        part.train(on)\n\n"
GATHERED = "def update(loss):\n    loss.backward()\n    opt.step()\n\nfor epoch in range(20):\n"
HEAD = "[w for part in list(model)[:1] for w in part.parameters()]"
FROZEN = "\nfor w in model[0].parameters():\n    w.requires_grad_(False)\nopt = "
OTHERS = ("(x[:cut] - mean) / std, y[:cut]", "(x[:cut] - mean) / std, y[torch.randperm(cut)]")
EACH_STEP = ("        opt.step()\n", "        for one in (opt, sched):\n            one.step()\n")
CUT = ("F.cross_entropy(model(a), b)", "F.cross_entropy(model[3](model[:3](a).detach()), b)")
TRAIN_LOSS = """    for a, b in loader:
        print('train loss', F.cross_entropy(model(a), b).item())
"""
GROWS = ("for epoch in range(20):\n", "right = total = 0\nfor epoch in range(20):\n")


@pytest.mark.parametrize(
    ("kind", "edits"),
    [
        ("mode", [("    model.train()\n", ""), ("for epoch in", "model.train()\nfor epoch in")]),
        ("mode", [("    model.eval()\n", "    mode(model, True)\n"), ("for epoch in", SET + "for epoch in")]),
        ("clearing-left-out", [("for epoch in range(20):\n", GATHERED), (STEP, "        update(loss)\n")]),
        ("optimizer-parameters", [("model.parameters()", HEAD)]),
        ("frozen", [("\nopt = ", FROZEN)]),
        ("gradient-cut", [CUT]),
        ("shuffling", [(LOADERS, LOADERS.replace("train, batch_size=32, shuffle=True", "train, 32"))]),
        ("evaluates-other-part", [("for a, b in held:", "for a, b in loader:")]),
        ("statistics-fitted-apart", [(SPLIT, OWN_STATISTICS)]),
        ("statistics-fitted", [(SPLIT, ALL_STATISTICS)]),
        ("labels-moved", [OTHERS]),
        ("schedule-stepped", [EACH_STEP, ("    sched.step()\n", "")]),
        ("metric-reset", [GROWS, ("    right = total = 0\n    with", "    with")]),
    ],
)
def test_told(kind: str, edits: list[tuple[str, str]]) -> None:
    assert kind in kinds(*edits)


@pytest.mark.parametrize(
    "edits",
    [
        [],
        [(SPLIT, EQUAL_STATISTICS)],
        [("    model.train()\n", "    mode(model, True)\n"), ("for epoch in", SET + "for epoch in")],
        [(STEP, "        loss.backward()\n        opt.step()\n        opt.zero_grad()\n")],
        [("model.parameters()", "[w for part in model for w in part.parameters()]")],
        [(SPLIT, SPLIT.replace("180", "150"))],
        [("    print(", TRAIN_LOSS + "    print(")],
        [
            ("StepLR(opt, 5, gamma=0.5)", "StepLR(opt, 5 * len(loader), gamma=0.5)"),
            ("    sched.step()\n", ""),
            ("        opt.step()\n", "        opt.step()\n        sched.step()\n"),
        ],
    ],
)
def test_nothing_is_told_of_what_happens_alike(edits: list[tuple[str, str]]) -> None:
    assert kinds(*edits) == []


def test_nothing_is_told_of_what_is_not_known() -> None:
    """An unknown library trains, or it is not known whether something happens."""
    assert kinds(("opt = torch.optim.Adam", "import sonnets\nopt = sonnets.Best")) == []
    guessed = "        import os\n        if os.environ.get('CLEAR'):\n            opt.zero_grad()\n"
    assert kinds(("        opt.zero_grad()\n", guessed)) == []


def test_gradients_that_are_gathered_and_cleared_unused() -> None:
    begin = ("    for a, b in loader:\n        loss", "    for i, (a, b) in enumerate(loader):\n        loss")
    gathered = "        (loss / 4).backward()\n        if i % 4 == 3:\n            opt.step()\n"
    right = script(begin, (STEP, gathered + "            opt.zero_grad()\n"))
    lost = script(begin, (STEP, gathered + "        opt.zero_grad()\n"))
    assert [t.kind for t in in_effect(lost, right)] == ["step-order"]


def test_it_is_told_where() -> None:
    edits = [("    model.train()\n", ""), ("for epoch in", "model.train()\nfor epoch in")]
    (told,) = in_effect(script(*edits), script())
    assert (told.mine, told.theirs) == (Place("train.py", 21), Place("train.py", 21))
