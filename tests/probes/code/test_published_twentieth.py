"""Ways of published scripts that were taken for faults: what is handed on, rows that feed a loader."""

from __future__ import annotations

import pytest

from .._scripts import state

P = "present"
LEARNS = """
import functools
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

def learn(net, opt, loader):
    for x, y in loader:
        opt.zero_grad()
        nn.functional.mse_loss(net(x), y).backward()
        opt.step()

def begin(net):
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.StepLR(opt, 3)
    return opt, schedule
"""


@pytest.mark.parametrize(
    ("rest", "told"),
    [
        ("opt, schedule = begin(net)\nlearn(net, opt, loader)\n", True),
        (
            "def setup(net):\n    return begin(net)\nopt, schedule = setup(net)\nlearn(net, opt, loader)\n",
            True,
        ),
        ("opt, schedule = begin(net)\nlearn(net, opt, loader)\nschedule.step()\n", False),
        (
            "def setup(net):\n    return begin(net)\n"
            "opt, schedule = setup(net)\nlearn(net, opt, loader)\nschedule.step()\n",
            False,
        ),
        ("ways = {'plain': begin}\nfit(net, ways['plain'], learn)\n", False),
        ("fit(functools.partial(begin, net), learn)\n", False),
        ("fit(begin(net), learn)\n", False),
    ],
)
def test_a_schedule_that_a_function_gives_back(rest: str, told: bool) -> None:
    assert (state("script-schedule-wrong", LEARNS + "net = nn.Linear(4, 1)\n" + rest) == P) is told


ROWS = """
import random
import numpy as np
from torch.utils.data import DataLoader, Dataset
class Rows(Dataset):
    def __init__(self, names, training=True):
        self.names, self.options = names, {}
        MADE
    def __getitem__(self, i):
        x = np.load(self.names[i])
        DREW
        return x
    def __len__(self):
        return len(self.names)
train_set = Rows(train_names)
val_set = Rows(val_names, training=True)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for x, y in DataLoader(train_set, shuffle=True):
    opt.zero_grad()
    loss(net(x), y).backward()
    opt.step()
"""
DRAWN = "x = x[:, ::-1].copy() if random.random() < 0.5 else x"


@pytest.mark.parametrize(
    ("made", "drew", "told"),
    [
        ("self.training = training", f"if self.training:\n            {DRAWN}", True),
        ("self.steps = RandomCrop(8) if training else None", "x = self.steps(x) if self.steps else x", True),
        ("if training:\n            self.options.update(weighed=True)", "np.random.seed(i)", False),
    ],
)
def test_a_switch_for_training_that_changes_no_sample(made: str, drew: str, told: bool) -> None:
    text = "import torch\n" + ROWS.replace("MADE", made).replace("DREW", drew)
    assert (state("script-evaluation-augmented", text) == P) is told


FED = """
class Rows(Dataset):
    def __init__(self, x, y):
        self.x, self.y = x, y
    def __getitem__(self, i):
        return self.x[i], self.y[i]

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(4, 1)
    def forward(self, x):
        return self.out(x)

def learn_whole(x, y, whole):
    loader = DataLoader(Rows(x, y), batch_size=8, shuffle=True)
    net = Net()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(9):
        learn(net, opt, loader)
    net.eval()
    seen = []
    with torch.no_grad():
        for x in np.array_split(whole, 8):
            x = torch.tensor(x)
            seen.append(net(x).numpy())
    x = np.concatenate(seen)
    return x
learn_whole(x, y, whole)
"""


def test_rows_that_feed_a_loader_are_no_way_back() -> None:
    text = "import numpy as np\n" + LEARNS.partition("def begin")[0] + FED
    assert state("script-wiring-wrong", text) != P
    assert state("script-wiring-wrong", text.replace("(net(x), y)", "(net(x).detach(), y)")) == P


SEARCH = """
class Search:
    def __init__(self, net):
        self.net = net
        self.opt = torch.optim.Adam(self.net.choices(), lr=0.001)
    def step(self, x, y):
        self.opt.zero_grad()
        nn.functional.mse_loss(self.net(x), y).backward()
        self.opt.step()

def main(net):
    choices = list(map(id, net.choices()))
    opt = torch.optim.SGD(filter(lambda p: id(p) not in choices, net.parameters()), lr=0.1)
    search = Search(net)
    for x, y in loader:
        search.step(x, y)
        opt.zero_grad()
        nn.functional.mse_loss(net(x), y).backward()
        opt.step()
main(net)
"""


def test_what_one_optimizer_leaves_out_another_has() -> None:
    text = "import torch\nimport torch.nn as nn\n" + SEARCH
    assert state("script-part-not-trained", text) != P
    alone = text.replace("self.opt = torch.optim.Adam(self.net.choices(), lr=0.001)", "self.opt = None")
    alone = alone.replace("        self.opt.zero_grad()\n", "").replace("        self.opt.step()\n", "")
    assert state("script-part-not-trained", alone) == P
