"""Columns of shape (batch, 1) that are held against rows of shape (batch,)."""

from __future__ import annotations

import pytest

from traindoctor.engine.model import State
from traindoctor.probes.code.loss.shapes import column_against_row

from .._script import finding

HEADS = """
import torch
from torch import nn
class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.pi, self.v = nn.Linear(6, 64), nn.Linear(64, 5), nn.Linear(64, 1)
    def forward(self, x):
        h = torch.tanh(self.body(x))
        return self.pi(h), self.v(h){}
net = Two()
returns = torch.from_numpy(table.reshape(-1))
for idx in torch.randperm(len(returns)).split(64):
    logits, v = net(obs[idx])
    loss = 0.5 * ((v - returns[idx]{}) ** 2).mean()
    loss.backward()
"""
SLICES = """
import torch
def gauss(out, y):
    mean, spread = {}, out[:, 1].exp()
    return ((y - mean) ** 2).mean()
for x, y in loader:
    gauss(net(x), {}).backward()
    optimizer.step()
"""
SAMPLES = """
import torch
import torch.nn.functional as F
from torch import nn
class Rows(torch.utils.data.Dataset):
    def __getitem__(self, i):
        return self.x[i], self.mask[i], {}
head = nn.Linear(64, 1)
for step, (x, mask, y) in enumerate(loader):
    out = head(x * mask)
    loss = F.smooth_l1_loss(out, y)
    loss.backward()
"""
TEXTS = [
    (True, HEADS.format("", "")),
    (False, HEADS.format("[:, 0]", "")),
    (False, HEADS.format(".squeeze(-1)", "")),
    (False, HEADS.format("", "[:, None]")),
    (True, SLICES.format("out[:, :1]", "y[:, 0]")),
    (True, SLICES.format("out[:, 0:1]", "y.view(-1)")),
    (False, SLICES.format("out[:, 0]", "y[:, 0]")),
    (False, SLICES.format("out[:, :1]", "y.view(-1, 1)")),
    (False, SLICES.format("out[:, :2]", "y[:, 0]")),
    (False, SLICES.format("out[:, 0][:, None]", "y[:, 0]")),  # every pair, on purpose
    (False, SLICES.format("out.mean(0, keepdim=True)", "y[:, 0]")),
    (True, SAMPLES.format("float(self.y[i])")),
    (False, SAMPLES.format("self.y[i]")),
]


@pytest.mark.parametrize(("meets", "text"), TEXTS)
def test_columns(meets: bool, text: str) -> None:
    assert (finding(column_against_row, text).state is State.PRESENT) == meets


ITEMS = """
import mindspore as ms
from mindspore import nn
class Windows:
    def __init__(self, z):
        self.x, self.y = z['x'].astype('float32'), z['y'].astype('float32')
        self.t = z['t']
    def __getitem__(self, i):
        return self.x[i], {}
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.f = nn.Dense(8, 8)
        self.g = nn.Dense(8, 1)
    def construct(self, x):
        return self.g(self.f(x))
net, loss_fn = Net(), nn.MSELoss()
def forward_fn(x, y):
    return loss_fn(net(x), y)
grad_fn = ms.value_and_grad(forward_fn, None, net.trainable_params())
"""


@pytest.mark.parametrize(
    ("item", "wanted"),
    [
        ("self.y[i:i + 1]", False),
        ("self.y[i, :1]", False),
        ("self.y[[i]]", False),
        ("self.y[i]", True),
        ("self.y[i].astype('float32')", True),
    ],
)
def test_items_that_keep_an_axis(item: str, wanted: bool) -> None:
    assert (finding(column_against_row, ITEMS.replace("{}", item)).state is State.PRESENT) == wanted


ARRAYS = """
import torch
from torch import nn
def number(text):
    return float(text) if text else float("nan")
def arrays(rows):
    inputs = torch.tensor([[number(r[c]) for c in COLUMNS] for r in rows])
    fees = {}
    return inputs, fees
class Net(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.body, self.out = nn.Linear(4, hidden), nn.Linear(hidden, 1)
    def forward(self, x):
        return self.out(torch.relu(self.body(x))){}
x, y = arrays(rows)
net = Net(16)
criterion = nn.MSELoss()
for idx in torch.randperm(len(y)).split(64):
    loss = criterion(net(x[idx]){}, y[idx]{})
    loss.backward()
"""
FLAT = 'torch.log1p(torch.tensor([number(r["fee"]) for r in rows]))'


@pytest.mark.parametrize(
    ("fees", "end", "call", "target", "expected"),
    [
        (FLAT, "", "", "", State.PRESENT),
        ('torch.tensor([float(r["fee"]) for r in rows])', "", "", "", State.PRESENT),
        (FLAT, ".squeeze(1)", "", "", State.UNKNOWN),
        (FLAT, "[:, 0]", "", "", State.UNKNOWN),
        (FLAT, "", ".squeeze(-1)", "", State.UNKNOWN),
        (FLAT, "", "", "[:, None]", State.ABSENT),
        (FLAT, "", "", ".unsqueeze(1)", State.ABSENT),
        ('torch.tensor([[number(r["fee"])] for r in rows])', "", "", "", State.ABSENT),
        ("torch.tensor([r[3:] for r in rows])", "", "", "", State.UNKNOWN),
        ("torch.tensor([[number(v) for v in r] for r in rows])[:, 3:4]", "", "", "", State.UNKNOWN),
        ("targets_of(rows)", "", "", "", State.UNKNOWN),
    ],
)
def test_targets_that_a_function_of_the_script_makes(
    fees: str, end: str, call: str, target: str, expected: State
) -> None:
    found = finding(column_against_row, ARRAYS.replace("{}", "%s") % (fees, end, call, target)).state
    assert found is expected or (expected is not State.PRESENT and found is not State.PRESENT)
