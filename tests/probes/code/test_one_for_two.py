"""One layer that stands for two: `self.conv2 = self.conv1`."""

from __future__ import annotations

import ast

import pytest

from traindoctor.engine.model import RunInfo, State
from traindoctor.probes.code.model.body import layer_repeated
from traindoctor.probes.code.model.one_for_two import layer_is_another
from traindoctor.probes.registry import View
from traindoctor.probes.run import Run
from traindoctor.probes.scripts.syntax import Script

NET = """
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 8)
        self.second = nn.Linear(8, 8)
        self.words = nn.Embedding(9, 8)
    def forward(self, x):
        return self.second(self.first(x).relu())

class Net(nn.Module):
    def __init__(self, tied=False):
        super().__init__()
        self.block = Block()
        self.words = nn.Embedding(9, 8)
        self.mean = nn.Linear(8, 2)
        self.left = nn.Linear(8, 2)
        {line}
    def forward(self, x, y):
        h = self.block(self.words(x))
        return {answer}
"""


def found(line: str, answer: str = "self.mean(h), self.spread(h)") -> bool:
    text = NET.replace("{line}", line).replace("{answer}", answer)
    return layer_is_another(Script("train.py", text, ast.parse(text))) is not None


@pytest.mark.parametrize(
    "line",
    [
        "self.spread = self.mean",
        "self.block.second = self.block.first",
        "self.left = self.spread = self.mean",
    ],
)
def test_one_layer_by_two_names(line: str) -> None:
    assert found(line) is (line.count("=") == 1)


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("self.spread = nn.Linear(8, 2)", "self.mean(h), self.spread(h)"),
        ("self.spread = self.mean  # shared on purpose", "self.mean(h), self.spread(h)"),
        ("# both heads share their weights\n        self.spread = self.mean", "self.mean(h), self.spread(h)"),
        ("if tied:\n            self.spread = self.mean", "self.mean(h), self.spread(h)"),
        ("self.spread = self.mean", "self.mean(h)"),  # another name, for who asks for it
        ("self.block.words = self.words", "self.block.words(x), self.words(x)"),
        ("self.right = self.left", "self.left(x), self.right(y)"),  # twin branches
    ],
)
def test_one_layer_that_is_right(line: str, answer: str) -> None:
    assert not found(line, answer)


def test_states() -> None:
    def state(text: str) -> State:
        run = Run(RunInfo("run"), {}, (), {}, (), (), {}, scripts={"train.py": text})
        return layer_repeated(View(run, None)).state

    right = NET.replace("{answer}", "self.mean(h), self.spread(h)")
    assert state(right.replace("{line}", "self.spread = self.mean")) is State.PRESENT
    assert state(right.replace("{line}", "self.more = nn.ModuleList([Block()])")) is State.ABSENT
    assert state("print(1)") is State.UNKNOWN
