"""MindSpore's graph mode: what Python does once, at compiling, and what never gets into the graph."""

from __future__ import annotations

import pytest

from .._scripts import state

CELL = """
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Tensor
ms.set_context(mode=ms.{MODE})
count = {"n": 0}
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc = nn.Dense(4, 2)
        self.seen = []
        self.calls = 0
        self.scale = ms.Parameter(Tensor(1.0), name="scale")
    def construct(self, x, lengths):
        y = self.fc(x)
        {LINES}
        return y
net = Net()
step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.CrossEntropyLoss()), nn.SGD(net.trainable_params()))
step.set_train()
for x, lengths, label in data:
    step(x, lengths, label)
"""


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ("self.seen.append(y.mean())", "present"),
        ("self.calls += 1", "present"),
        ("self.calls = self.calls + 1; y = y * min(1.0, self.calls / 100)", "present"),
        ("count['n'] += 1", "present"),
        ("y = Tensor(y.asnumpy() * 2)", "present"),
        ("mask = np.arange(4) < lengths.asnumpy()[:, None]; y = y * Tensor(mask)", "present"),
        ("for i, n in enumerate(lengths.tolist()): y[i, n:] = 0", "present"),
        ("try:\n            y = y * self.scale\n        except ValueError:\n            y = y", "present"),
        ("rows = []\n        for i in range(3): rows.append(y[i])\n        y = ops.stack(rows)", "absent"),
        ("print('shape', y.shape, y.asnumpy())", "absent"),
        ("ops.assign_add(self.scale, Tensor(1.0))", "absent"),
        ("self.scale += 1", "absent"),
        ("if not self.training: y = Tensor(y.asnumpy())", "absent"),
        ("y = y if isinstance(x, tuple) else y * 2", "absent"),
        ("total = 0\n        for i in range(3): total += 1\n        y = y * total", "absent"),
    ],
)
def test_python_in_a_cell(lines: str, found: str) -> None:
    text = CELL.replace("{LINES}", lines)
    assert state("script-lost-in-graph", text.replace("{MODE}", "GRAPH_MODE")) == found
    assert state("script-lost-in-graph", text.replace("{MODE}", "PYNATIVE_MODE")) == "unknown"


JIT = """
import random
import mindspore as ms
from mindspore import nn, ops
ramp = {"step": 0}
def forward(x, y):
    {LINES}
    return loss_fn(net(x), y)
grad_fn = ms.value_and_grad(forward, None, optimizer.parameters)
@ms.jit
def train_step(x, y):
    loss, grads = grad_fn(x, y)
    optimizer(grads)
    return loss
def evaluate(data):
    return [net(x).asnumpy() for x, _ in data]
"""


@pytest.mark.parametrize(
    ("symptom", "lines", "found"),
    [
        ("script-lost-in-graph", "ramp['step'] += 1", "present"),
        ("script-lost-in-graph", "x = ms.Tensor(x.asnumpy())", "present"),
        ("script-lost-in-graph", "x = ops.flip(x, (3,))", "absent"),
        ("script-drawn-at-compiling", "x = x * random.random()", "present"),
    ],
)
def test_what_a_compiled_step_runs(symptom: str, lines: str, found: str) -> None:
    assert state(symptom, JIT.replace("{LINES}", lines)) == found


def test_cells_of_evaluation_are_left_aside() -> None:
    text = CELL.replace("{MODE}", "GRAPH_MODE").replace("{LINES}", "pass")
    late = """
class Decode(nn.Cell):
    def construct(self, y):
        return y.asnumpy().argmax(1)
"""
    assert state("script-lost-in-graph", text + late) == "absent"
