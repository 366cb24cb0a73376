"""One layer where every round of a loop should have its own, alone and against the benchmark's script."""

import pytest

from traindoctor.engine.model import RunInfo
from traindoctor.probes.code.against.edits import compare, sorted_out
from traindoctor.probes.run import Run

from .._scripts import state as state_of

KERAS = """
from tensorflow import keras
from tensorflow.keras import layers
past = keras.Input((72, 7))
x = layers.Dense(48)(past)
{body}
model = keras.Model(past, layers.Dense(24)(x))
model.compile(optimizer="adam", loss="mse")
model.fit(data, epochs=3)
"""
TORCH = """
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = nn.Linear(width, width)

    def forward(self, x):
        return x + self.inner(x).relu()

class Net(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.blocks = nn.ModuleList()
{body}

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x
"""


@pytest.mark.parametrize(
    ("code", "state"),
    [
        (
            KERAS.format(
                body="conv = layers.Conv1D(48, 3, padding='causal')\n"
                "for rate in (1, 2, 4):\n    x = layers.Add()([x, conv(x)])\n    x = conv(x)"
            ),
            "present",
        ),
        (
            TORCH.format(
                body="        block = Block(width)\n        for _ in range(depth):\n"
                "            self.blocks.append(block)"
            ),
            "present",
        ),
        (
            "from torch import nn\nlayer = nn.Linear(8, 8)\nstack = []\nfor width in (8, 8):\n"
            "    stack.append(layer)\nnet = nn.Sequential(*stack)\n",
            "present",
        ),
        (
            TORCH.format(
                body="        for _ in range(depth):\n            block = Block(width)\n"
                "            self.blocks.append(block)"
            ),
            "absent",
        ),
        (  # one cell that goes along the sequence
            KERAS.format(body="cell = layers.Dense(48)\nfor step in range(4):\n    x = cell(x)"),
            "unknown",
        ),
        (  # one encoder for several inputs
            KERAS.format(
                body="encode = layers.Dense(48)\nparts = []\n"
                "for part in (past, x):\n    y = encode(part)\n    parts.append(y)"
            ),
            "unknown",
        ),
        (
            KERAS.format(
                body="for rate in (1, 2, 4):\n    conv = layers.Conv1D(48, 3, dilation_rate=rate)\n"
                "    x = conv(x)"
            ),
            "unknown",
        ),
    ],
)
def test_one_layer_in_all_rounds(code: str, state: str) -> None:
    assert state_of("script-layer-repeated", code) == state


def kinds(mine: str, theirs: str) -> set[str]:
    """The kinds of edits between two programs."""
    two = [Run(RunInfo("run"), {}, (), {}, (), (), {}, scripts={"train.py": t}) for t in (mine, theirs)]
    return {kind for kind, edits in sorted_out(compare(*two)).items() if edits}


def test_a_layer_made_before_the_loop_is_shared_by_its_rounds() -> None:
    each = KERAS.format(
        body="for rate in (1, 2, 4):\n"
        "    x = layers.Conv1D(48, 3, padding='causal', dilation_rate=rate, activation='relu')(x)"
    )
    one = KERAS.format(
        body="conv = layers.Conv1D(48, 3, padding='causal', activation='relu')\n"
        "for rate in (1, 2, 4):\n    x = conv(x)"
    )
    named = each.replace("(x)\nmodel", "\n    x = y(x)\nmodel").replace(
        "    x = layers.C", "    y = layers.C"
    )

    assert "weight-sharing" in kinds(one, each)
    assert "weight-sharing" in kinds(each, one)
    assert kinds(named, each) == set()
