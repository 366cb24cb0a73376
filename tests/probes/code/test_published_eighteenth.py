"""Ways of published scripts that were taken for faults: sets of classes, lists that are mixed, stages."""

from __future__ import annotations

import pytest

from .._scripts import state

P = "present"
STEP = """
import torch
import torch.nn as nn
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for x, y in loader:
    opt.zero_grad()
    loss = nn.functional.cross_entropy(net(x), y)
    loss.backward()
    opt.step()
"""

NUMBERED = """
import json, os
def build(y, path):
    if os.path.exists(path):
        {READ}
    else:
        names = {i: v for i, v in enumerate(set(y.tolist()))}
        label_id_map = {v: k for k, v in names.items()}
        {WRITTEN}
    return label_id_map
"""


@pytest.mark.parametrize(
    ("read", "written", "told"),
    [
        ("label_id_map = json.load(open(path))", "json.dump(label_id_map, open(path, 'w'))", False),
        ("label_id_map = json.load(open(path))", "pass", True),
        ("pass", "json.dump(label_id_map, open(path, 'w'))", True),
    ],
)
def test_numbers_of_a_set_that_are_read_back(read: str, written: str, told: bool) -> None:
    text = STEP + NUMBERED.replace("{READ}", read).replace("{WRITTEN}", written)
    text += "torch.save(net.state_dict(), 'net.pt')\n"  # another process meets the numbers

    assert (state("script-classes-numbered-apart", text) == P) is told


@pytest.mark.parametrize(
    ("start", "told"),
    [("labels = set()\nfor row in rows:\n    labels.add(row.label)", False), ("labels = read(rows)", True)],
)
def test_sorted_sets_are_classes(start: str, told: bool) -> None:
    text = f"{start}\nlabels = sorted(list(labels))\n{STEP}"

    assert (state("script-sorts-training-data", text) == P) is told


LISTED = """
import glob, random
def parts(folder):
    files = glob.glob(folder)
    {BETWEEN}
    return files[:80], files[80:]
"""


@pytest.mark.parametrize(
    ("seed", "between", "told"),
    [
        ("", "random.shuffle(files)", False),
        ("", "pass", True),
        ("random.seed(0)", "random.shuffle(files)", True),
    ],
)
def test_a_list_that_is_mixed_without_a_seed(seed: str, between: str, told: bool) -> None:
    text = LISTED.replace("{BETWEEN}", between) + seed + STEP

    assert (state("script-split-by-listing", text) == P) is told


STAGES = """
import torch
def run(net, loader):
    for {OUTER}:
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for {INNER}:
            for x, y in loader:
                opt.zero_grad()
                torch.nn.functional.cross_entropy(net(x), y).backward()
                opt.step()
"""


@pytest.mark.parametrize(
    ("outer", "inner", "told"),
    [
        ("amount in steps", "epoch in range(5)", False),
        ("epoch in range(5)", "part in range(2)", True),
    ],
)
def test_an_optimizer_for_each_stage(outer: str, inner: str, told: bool) -> None:
    text = STAGES.replace("{OUTER}", outer).replace("{INNER}", inner)

    assert (state("script-optimizer-rebuilt", text) == P) is told


ROUTED = """
class Caps(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Linear(8, 8)
    def forward(self, x):
        u = self.w(x)
        stopped = u.detach()
        b = torch.zeros_like(x)
        for r in range(3):
            c = b.softmax(2)
            if r == 2:
                v = squash((c * {LAST}).sum(1))
            else:
                v = squash((c * stopped).sum(1))
                b = b + (stopped * v).sum(-1)
        return v
"""


@pytest.mark.parametrize(("last", "told"), [("u", False), ("stopped", True)])
def test_rounds_before_the_last_without_gradient(last: str, told: bool) -> None:
    text = STEP + ROUTED.replace("{LAST}", last)

    assert (state("script-wiring-wrong", text) == P) is told


COSINE = """
import math, torch
def main(net, loader, epochs=9):
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    plan = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: 0.5 * (1 + math.cos(math.pi * s / {LENGTH})))
    for epoch in range(epochs):
        for x, y in loader:
            opt.zero_grad()
            torch.nn.functional.cross_entropy(net(x), y).backward()
            opt.step()
            plan.step()
"""


@pytest.mark.parametrize(
    ("length", "told"),
    [("(epochs * len(loader))", False), ("(len(loader) * epochs)", False), ("epochs", True)],
)
def test_a_product_counts_what_its_factors_make(length: str, told: bool) -> None:
    assert (state("script-schedule-wrong", COSINE.replace("{LENGTH}", length)) == P) is told
