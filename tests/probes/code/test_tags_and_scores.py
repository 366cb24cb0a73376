"""Tags that are handed on beside texts in another order, and scores that are squashed twice."""

from __future__ import annotations

import pytest

from .._scripts import state

TEXTS = """
import numpy as np
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(9, 4)
    def forward(self, x):
        {BACK}
net = Net()
optimizer = torch.optim.Adam(net.parameters())
rng = np.random.default_rng(1)
def batches(texts, answers):
    order = np.arange(len(texts))
    for i in range(0, len(texts), 32):
        rows = order[i : i + 32]
        yield {TAKEN}, torch.from_numpy(answers[rows])
def evaluate(net, texts, answers):
    right = 0
    for x, y in batches(texts, answers):
        out = {ASKED}
        right += ((out > 0.5) == y.bool()).sum().item()
    return right / len(texts)
docs, tags = read("train.csv")
later, wanted = read("valid.csv")
{ORDER}
for epoch in range(9):
    for x, y in batches(docs, tags):
        loss = nn.functional.{LOSS}(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(evaluate(net, later, wanted))
"""
RIGHT = {
    "BACK": "return self.fc(x)",
    "TAKEN": "collate([texts[j] for j in rows])",
    "ASKED": "torch.sigmoid(net(x))",
    "ORDER": "pass",
    "LOSS": "binary_cross_entropy_with_logits",
}
ENDS = {"BACK": "return torch.sigmoid(self.fc(x))", "LOSS": "binary_cross_entropy"}


def _state(symptom: str, edits: dict[str, str]) -> str:
    text = TEXTS
    for name, value in {**RIGHT, **edits}.items():
        text = text.replace("{" + name + "}", value)
    return state(symptom, text)


@pytest.mark.parametrize(
    ("edits", "present"),
    [
        ({"ORDER": "rng.shuffle(docs)"}, True),
        ({"ORDER": "np.random.shuffle(tags)", "TAKEN": "texts[rows]"}, True),
        ({"ORDER": "rng.shuffle(vocabulary)"}, False),
        ({"ORDER": "order = rng.permutation(len(docs))\ndocs, tags = docs[order], tags[order]"}, False),
        (
            {"ORDER": "state = rng.get_state()\nrng.shuffle(docs)\nrng.set_state(state)\nrng.shuffle(tags)"},
            False,
        ),
        ({"ORDER": "rng.shuffle(docs)", "TAKEN": "collate(draw(texts))"}, False),
    ],
)
def test_texts_that_leave_their_tags(edits: dict[str, str], present: bool) -> None:
    assert (_state("script-sample-torn-apart", edits) == "present") is present


@pytest.mark.parametrize(
    ("edits", "present"),
    [
        ({**ENDS}, True),
        ({**ENDS, "BACK": "return self.fc(x).sigmoid()", "ASKED": "net(x).sigmoid()"}, True),
        ({}, False),
        ({**ENDS, "ASKED": "net(x)"}, False),
        ({**ENDS, "BACK": "h = torch.sigmoid(self.fc(x))\n        return h * x.mean()"}, False),
        ({**ENDS, "ASKED": "torch.sigmoid(10 * (net(x) - 0.5))"}, False),
    ],
)
def test_scores_of_a_model_that_ends_in_a_sigmoid(edits: dict[str, str], present: bool) -> None:
    assert (_state("script-metric-miscounts", edits) == "present") is present
