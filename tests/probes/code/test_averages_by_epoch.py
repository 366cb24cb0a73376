"""Averages of weights that follow once an epoch with a share that is meant for steps."""

from __future__ import annotations

import pytest

from .._scripts import state

PROGRAM = """
import copy
import torch
import torch.nn.functional as F
class Average:
    def __init__(self, model, decay={SHARE}):
        self.model = copy.deepcopy(model)
        self.decay = decay
    @torch.no_grad()
    def update(self, model):
        for mine, theirs in zip(self.model.parameters(), model.parameters()):
            {MOVE}
net = Net()
average = Average(net)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range({EPOCHS}):
    for x, y in loader:
        loss = F.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step(){STEP}
    {EPOCH}
    print(evaluate(average.model))
"""
ADD = "mine.mul_(self.decay).add_(theirs, alpha=1 - self.decay)"
LERP = "mine.lerp_(theirs, 1 - self.decay)"
OUT = "mine.data = self.decay * mine.data + (1 - self.decay) * theirs.data"
BEHIND, WITHIN = (
    {"EPOCH": "average.update(net)", "STEP": ""},
    {"STEP": "\n        average.update(net)", "EPOCH": "pass"},
)


def _state(**given: str) -> str:
    text = PROGRAM
    for name, value in given.items():
        text = text.replace("{" + name + "}", value)
    return state("script-average-astray", text)


@pytest.mark.parametrize("move", [ADD, LERP, OUT])
def test_an_average_that_stays_at_its_start(move: str) -> None:
    assert _state(MOVE=move, SHARE="0.99", EPOCHS="20", **BEHIND) == "present"
    assert _state(MOVE=move, SHARE="0.99", EPOCHS="20", **WITHIN) != "present"


@pytest.mark.parametrize(
    ("share", "epochs"), [("0.5", "20"), ("0.9", "100"), ("given", "20"), ("0.99", "count")]
)
def test_an_average_that_follows_by_epochs(share: str, epochs: str) -> None:
    """A small share, many epochs, or figures that are not known."""
    assert _state(MOVE=ADD, SHARE=share, EPOCHS=epochs, **BEHIND) != "present"


def test_a_smoothed_figure_is_no_weight() -> None:
    text = PROGRAM.replace("{MOVE}", "pass").replace("model.parameters(), model.parameters()", "model, model")
    text = text.replace("self.model = copy.deepcopy(model)", "self.seen = 0.0").replace(
        "        for mine, theirs",
        "        self.seen = self.decay * self.seen + (1 - self.decay) * model\n        for a, b",
    )
    for name, value in {
        "SHARE": "0.99",
        "EPOCHS": "20",
        "STEP": "",
        "EPOCH": "average.update(loss.item())",
    }.items():
        text = text.replace("{" + name + "}", value)
    assert state("script-average-astray", text) != "present"
