"""Weak points of scripts that the curves show to have been met, and modes that an expression switches."""

from __future__ import annotations

import numpy as np
import pytest

from traindoctor.engine.model import RunInfo
from traindoctor.probes.code.loss.unsafe import unsafe_math_met
from traindoctor.probes.code.model.bounded import output_bounded_met
from traindoctor.probes.registry import View
from traindoctor.probes.run import Run

from .._build import series
from .._scripts import state

NET = """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(8, 1)
    def forward(self, x):
        return {returned}
net = Net(); opt = torch.optim.Adam(net.parameters(), 1e-3); criterion = nn.{loss}()
for x, y in loader:
    loss = criterion(net(x), y)
    opt.zero_grad(); loss.backward(); opt.step()
"""


def view(text: str, values: list[float]) -> View:
    """A script and its training loss."""
    curve = series("train/loss", np.array(values))
    return View(
        Run(RunInfo("run"), {"train/loss": curve}, (curve,), {}, (), (), {}, scripts={"t.py": text}), None
    )


FLAT, FALLS = [12.5, 12.49, 12.5, 12.48, 12.49, 12.5], [12.5, 9.0, 6.0, 4.0, 3.0, 2.5]


@pytest.mark.parametrize(
    ("returned", "loss", "values", "told"),
    [
        ("torch.sigmoid(self.out(x))", "L1Loss", FLAT, "present"),
        ("torch.relu(self.out(x)).squeeze(-1)", "MSELoss", FLAT, "present"),
        ("torch.sigmoid(self.out(x))", "L1Loss", FALLS, "absent"),
        ("self.out(x)", "L1Loss", FLAT, "absent"),
        ("torch.sigmoid(self.out(x))", "BCELoss", FLAT, "unknown"),
    ],
)
def test_bounded_outputs(returned: str, loss: str, values: list[float], told: str) -> None:
    """A bound tells where the loss of a regression does not move."""
    assert (
        output_bounded_met(view(NET.format(returned=returned, loss=loss), values), progress=0.02).state
        == told
    )


def test_bounded_outputs_of_keras() -> None:
    """The last layer of the one stack."""
    text = "from keras import Sequential, layers\n"
    text += "m = Sequential([layers.Dense(8), layers.Dense(1, activation='{}')])\n"
    text += "m.compile('adam', 'mse')\nm.fit(x, y)\n"

    assert output_bounded_met(view(text.format("relu"), FLAT), progress=0.02).state == "present"
    assert output_bounded_met(view(text.format("linear"), FLAT), progress=0.02).state == "absent"


NAN = float("nan")


@pytest.mark.parametrize(
    ("body", "values", "told"),
    [
        ("torch.sqrt((a - b).mean())", [0.4, 0.3, 0.3, NAN], "present"),
        ("torch.sqrt((a - b).mean())", [0.4, 0.3, 0.3, 0.2], "absent"),
        ("torch.sqrt((a - b).mean())", [0.4, 9.0, 3e4, NAN], "unknown"),  # it grew first
        ("torch.sqrt((a - b).pow(2).mean() + 1e-6)", [0.4, 0.3, 0.3, NAN], "absent"),
        ("torch.sqrt((a - b).mean())", [NAN, NAN], "unknown"),
    ],
)
def test_edges_that_were_met(body: str, values: list[float], told: str) -> None:
    """A root without a floor, and a loss that is no number from one step to the next."""
    text = f"import torch\ndef my_loss(a, b):\n    return {body}\n"

    assert unsafe_math_met(view(text, values)).state == told


PHASES = """
import torch
from torch import nn
def main(loaders, model, opt, criterion):
    for epoch in range(9):
        for phase in ("train", "val"):
            {switch}
            for x, y in loaders[phase]:
                opt.zero_grad()
                loss = criterion(model(x), y)
                if phase == "train":
                    loss.backward(); opt.step()
"""


@pytest.mark.parametrize(
    ("switch", "told"),
    [
        ("model.train() if phase == 'train' else model.eval()", False),
        ("phase == 'train' and model.train() or model.eval()", False),
        ("model.eval()", True),
    ],
)
def test_a_mode_that_an_expression_chooses(switch: str, told: bool) -> None:
    """What stands in one branch of an expression does not always run."""
    found = state("script-eval-mode-while-training", PHASES.format(switch=switch))

    assert (found == "present") is told


@pytest.mark.parametrize(("scored", "told"), [("net(x).argmax(1)", True), ("net(x).argmax()", False)])
def test_a_softmax_over_what_is_not_asked(scored: str, told: bool) -> None:
    """Who asks for the best of axis 1 has samples along axis 0, and a softmax over those is wrong."""
    text = NET.format(returned="torch.log_softmax(self.out(x), dim=0)", loss="NLLLoss") + f"print({scored})\n"

    assert (state("script-softmax-axis", text) == "present") is told
