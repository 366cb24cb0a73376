"""What two rehearsed programs do alike."""

import pytest

from traindoctor.engine.model import Place
from traindoctor.probes.rehearsal.compare import alike, apart, facts
from traindoctor.probes.rehearsal.machine import rehearsed
from traindoctor.probes.rehearsal.marks import settings
from traindoctor.probes.rehearsal.seen import gone_through, seen
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


def script(*edits: tuple[str, str]) -> Script:
    """The program with edits."""
    text = PLAIN
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    (source,) = programs({"train.py": text})
    return source


NET = "nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 3))"
CLASS = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last, self.drop = nn.Linear(8, 32), nn.Linear(32, 3), nn.Dropout(p=0.1)
    def forward(self, x):
        return self.last(self.drop(torch.relu(self.first(x))))

model = Net()"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (f"model = {NET}", CLASS),
        (
            "F.cross_entropy(model(a), b)",
            "nn.CrossEntropyLoss()(model(a), b)",
        ),
        (
            "torch.optim.Adam(model.parameters(), lr=1e-3)",
            "torch.optim.Adam([*model.parameters()], 0.001)",
        ),
        ("StepLR(opt, 5, gamma=0.5)", "StepLR(optimizer=opt, step_size=5, gamma=0.5, last_epoch=-1)"),
        (
            "        opt.zero_grad()\n        loss.backward()\n        opt.step()\n",
            "        loss.backward()\n        opt.step()\n        opt.zero_grad(set_to_none=True)\n",
        ),
        ("cut = 180", "cut = len(x) - 60"),
    ],
)
def test_equal_ways_have_equal_facts(old: str, new: str) -> None:
    plain = script()
    known = {k for k, v in facts(plain).items() if v is not None}
    assert known == set(facts(plain))
    assert alike(script((old, new)), plain) == known


@pytest.mark.parametrize(
    ("old", "new", "fact"),
    [
        ("nn.ReLU()", "nn.Tanh()", "network"),
        ("nn.Dropout(0.1)", "nn.Dropout(0.5)", "network"),
        (NET, "(lambda d: nn.Sequential(d, nn.ReLU(), nn.Dropout(0.1), d))(nn.Linear(8, 8))", "network"),
        ("F.cross_entropy(model(a), b)", "F.cross_entropy(model(a), b, label_smoothing=0.3)", "loss"),
        ("F.cross_entropy(model(a), b)", "nn.CrossEntropyLoss(ignore_index=0)(model(a), b)", "loss"),
        ("F.cross_entropy(model(a), b)", "F.cross_entropy(model(a)[-1:], b[-2:])", "loss"),
        ("model.parameters(), lr=1e-3", "model[3].parameters(), lr=1e-3", "optimizer"),
        ("lr=1e-3", "lr=1e-2", "optimizer"),
        ("StepLR(opt, 5, gamma=0.5)", "StepLR(opt, 50, gamma=0.5)", "schedule"),
        ("        opt.step()\n    sched.step()", "        opt.step()\n        sched.step()", "schedule"),
        ("        opt.zero_grad()\n", "", "steps"),
        ("    model.eval()\n", "", "modes"),
        ("shuffle=True", "shuffle=False", "rows"),
        ("((x[cut:] - mean) / std, y[cut:])", "((x[90:] - mean) / std, y[90:])", "rows"),
        ("x[:cut].mean(0), x[:cut].std(0)", "x.mean(0), x.std(0)", "statistics"),
        ("((x[cut:] - mean) / std", "((x[cut:] - mean)", "inputs-scored"),
        ("model(a).argmax(1)", "model(a).argmax(0)", "figures"),
    ],
)
def test_faults_set_their_fact_apart(old: str, new: str, fact: str) -> None:
    assert fact in apart(script((old, new)), script())


def test_what_is_not_known_is_like_nothing_else() -> None:
    edit = ("nn.Linear(8, 32)", "made_elsewhere({1: 2}.items(), object())")
    one = facts(script(edit))
    assert one.get("network") is None or "network" not in alike(script(edit), script())


def test_a_program_that_does_not_train_has_no_facts() -> None:
    (source,) = programs({"train.py": "import torch\nprint(torch.zeros(3))\n"})
    assert facts(source) == {}


def line(text: str) -> int:
    """The line of the program in which a text stands."""
    return next(i for i, row in enumerate(PLAIN.splitlines(), 1) if text in row)


def test_a_fact_sees_what_it_is_made_of_and_nothing_else() -> None:
    place = Place("train.py", line("nn.Sequential"))
    mine = script(("nn.Dropout(0.1)", "nn.Dropout(p=0.1)"))
    assert seen(mine, script(), [(place, place)], ["network"])
    assert not seen(mine, script(), [(place, place)], ["rows"])
    told = Place("train.py", line("val accuracy"))
    assert not seen(script(('"val accuracy"', '"accuracy"')), script(), [(told, told)], ["network", "rows"])


def test_lines_that_are_the_same_show_nothing() -> None:
    place = Place("train.py", line("opt.step"))
    assert not seen(script(), script(), [(place, place)], ["steps"])


def test_a_function_that_nothing_calls_is_not_gone_through() -> None:
    more = ("opt = torch", "def again():\n    return model(x)\n\nopt = torch")
    assert gone_through(script(("lr=1e-3", "lr=1e-2")), script())
    assert not gone_through(script(more), script())
    assert gone_through(script(more), script(more))


def test_rates_that_a_function_gives_are_worked_out() -> None:
    old = "torch.optim.lr_scheduler.StepLR(opt, 5, gamma=0.5)"
    one, other, more = (
        (old, f"torch.optim.lr_scheduler.LambdaLR(opt, {f})")
        for f in (
            "lambda n: min(1.0, (n + 1) / 100)",
            "lambda e: (1 + e) / 100 if e < 99 else 1.0",
            "lambda n: 1 / n",
        )
    )
    assert "schedule" in alike(script(one), script(other))
    assert "schedule" in apart(script(one), script())
    assert "schedule" not in alike(script(more), script(one))


def test_settings_under_keys_of_several_kinds_compare_too() -> None:
    """A group may hold something under a key that was computed; it stops no comparison."""
    machine = rehearsed(script())

    assert len(settings(machine, "Adam", [], {("names", 1): 0.5, "lr": 0.25})) == 2
