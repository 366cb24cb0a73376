"""Counts of evaluation in tensors and objects: begun anew, never emptied, over padding and repeated rows."""

from __future__ import annotations

import pytest

from .._scripts import state

METRIC = "script-metric-miscounts"
PROGRAM = """
import torch
import torch.distributed as dist
from net import Net, loaders, loss_of

{MODULE}
def score(model, loader{ARGUMENT}):
    model.eval()
    {BEFORE}
    with torch.no_grad():
        for x, y in loader:
            {FIRST}
            hits = (model(x).argmax(1) == y)
            {ADD}
    {BEHIND}
    return {RETURN}

def main(epochs):
    model, opt = Net(), None
    train, valid = loaders()
    opt = torch.optim.Adam(model.parameters())
    {OUTSIDE}
    for epoch in range(epochs):
        model.train()
        for x, y in train:
            opt.zero_grad()
            loss_of(model(x), y).backward()
            opt.step()
        print(score(model, valid{GIVEN}))
main(3)
"""
RIGHT = {
    "MODULE": "",
    "ARGUMENT": "",
    "BEFORE": "counts = torch.zeros(2)",
    "FIRST": "pass",
    "ADD": "counts[0] += hits.sum(); counts[1] += y.numel()",
    "BEHIND": "pass",
    "RETURN": "(counts[0] / counts[1]).item()",
    "OUTSIDE": "pass",
    "GIVEN": "",
}
COUNTER = """
class HitMetric:
    def __init__(self):
        self.hits = self.seen = 0
    def update(self, hits):
        self.hits += hits.sum().item()
        self.seen += hits.numel()
    def value(self):
        return self.hits / self.seen
"""
OWN = {
    "MODULE": COUNTER,
    "BEFORE": "counts = HitMetric()",
    "ADD": "counts.update(hits)",
    "RETURN": "counts.value()",
}


def says(changed: dict[str, str]) -> str:
    text = PROGRAM
    for name, piece in {**RIGHT, **changed}.items():
        text = text.replace("{" + name + "}", piece)
    return state(METRIC, text)


@pytest.mark.parametrize(
    "changed",
    [
        {"BEFORE": "pass", "FIRST": "counts = torch.zeros(2)"},
        {"FIRST": "counts.zero_()"},
        {"ARGUMENT": ", counts=torch.zeros(2)", "BEFORE": "pass"},
        {"MODULE": "counts = torch.zeros(2)", "BEFORE": "pass"},
        {**OWN, "BEFORE": "pass", "FIRST": "counts = HitMetric()"},
        {
            **OWN,
            "BEFORE": "pass",
            "ARGUMENT": ", counts",
            "OUTSIDE": "counts = HitMetric()",
            "GIVEN": ", counts",
        },
        {"BEHIND": "dist.all_reduce(counts, op=dist.ReduceOp.MAX)"},
        {"FIRST": "known = y != 0", "ADD": "counts[0] += (hits & known).sum(); counts[1] += known.numel()"},
    ],
)
def test_counts_that_are_wrong_whatever_the_model_does(changed: dict[str, str]) -> None:
    assert says(changed) == "present"


@pytest.mark.parametrize(
    "changed",
    [
        {},
        OWN,
        {"BEHIND": "dist.all_reduce(counts, op=dist.ReduceOp.SUM)"},
        {"ARGUMENT": ", counts=torch.zeros(2)", "BEFORE": "counts = counts.clone()"},
        {"ARGUMENT": ", counts=torch.zeros(2)", "BEFORE": "counts.zero_()"},
        {"MODULE": "counts = torch.zeros(2)", "BEFORE": "counts[:] = 0"},
        {
            **OWN,
            "BEFORE": "pass",
            "ARGUMENT": ", counts",
            "GIVEN": ", HitMetric()",
        },
        {"FIRST": "known = y != 0", "ADD": "counts[0] += (hits & known).sum(); counts[1] += known.sum()"},
        {
            "FIRST": "one = torch.zeros(2)",
            "ADD": "one[0] += hits.sum(); counts += one; counts[1] += y.numel()",
        },
    ],
)
def test_counts_that_are_right(changed: dict[str, str]) -> None:
    assert says(changed) != "present"


ACCELERATE = """
import torch
from accelerate import Accelerator
from net import Net, rows, loss_of
from torch.utils.data import DataLoader

def score(model, loader, accelerator):
    hits, seen = 0, 0
    model.eval()
    with torch.no_grad():
        for x, y in loader:
            out = model(x)
            {GATHER}
            hits += (out.argmax(1) == y).sum().item()
            seen += y.size(0)
    return hits / seen

accelerator = Accelerator()
model = Net()
opt = torch.optim.Adam(model.parameters())
train = DataLoader(rows("train"), 8, shuffle=True, drop_last=True)
valid = DataLoader(rows("valid"), 8{MORE})
model, opt, train, valid = accelerator.prepare(model, opt, train, valid)
for epoch in range(3):
    for x, y in train:
        accelerator.backward(loss_of(model(x), y))
        opt.step()
        opt.zero_grad()
    print(score(model, valid, accelerator))
"""


@pytest.mark.parametrize(
    ("wrong", "gather", "more"),
    [
        (True, "out, y = accelerator.gather((out, y))", ""),
        (False, "out, y = accelerator.gather_for_metrics((out, y))", ""),
        (False, "out, y = accelerator.gather((out, y))", ", drop_last=True"),
        (False, "out, y = accelerator.gather((out, y)); out, y = out[: len(rows)], y[: len(rows)]", ""),
        (False, "pass", ""),
    ],
)
def test_rows_that_fill_the_last_batch(wrong: bool, gather: str, more: str) -> None:
    text = ACCELERATE.replace("{GATHER}", gather).replace("{MORE}", more)
    assert (state(METRIC, text) == "present") is wrong
