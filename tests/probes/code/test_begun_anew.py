"""Sums of an evaluation that hold what came before, means of means, and best weights that are thrown away."""

from __future__ import annotations

import textwrap

import pytest

from traindoctor.probes.code.evaluation import averages, best, metrics
from traindoctor.probes.registry import View

from .._build import run

EPOCHS = """
    import torch
    from torch import nn
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(3):
        running = 0.0
        for x, y in train_loader:
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            running += loss.item() * len(y)
        train_loss = running / len(train_set)
        {between}
        with torch.no_grad():
            for x, y in val_loader:
                {adds} += nn.functional.cross_entropy(model(x), y).item() * len(y)
        val_loss = {adds} / len(val_set)
"""
OBJECT = """
    import torch
    from torch import nn
    class Trainer:
        def __init__(self, model):
            self.model = model
            self.right, self.seen = 0, 0
        def evaluate(self, loader):
            self.model.eval()
            {reset}
            for x, y in loader:
                self.right += (self.model(x).argmax(1) == y).sum().item()
                self.seen += len(y)
            return self.right / self.seen
"""
EVALUATE = """
    import torch
    from torch import nn
    from torch.utils.data import DataLoader
    val_loader = DataLoader(val_set, batch_size=8{more})
    def evaluate(model, loader):
        model.eval()
        total, n = 0.0, 0
        for x, y in loader:
            total += {adds}
            n += {count}
        return total / n
"""
BEST = """
    import torch
    from torch import nn
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(3):
        for x, y in train_loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
        score = evaluate(model)
        if score > top:
            top = score
            torch.save(model.state_dict(), "best.pt")
    {reads}
    print(evaluate(model))
"""


def state(probe: object, text: str, **parts: str) -> str:
    view = View(run(scripts={"t.py": textwrap.dedent(text).format(**parts)}))
    return str(probe(view).state.value)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("between", "adds", "expected"),
    [("pass", "running", True), ("running = 0.0", "running", False), ("held = 0.0", "held", False)],
)
def test_held_out_batches_start_their_own_sum(between: str, adds: str, expected: bool) -> None:
    found = state(metrics.metric_miscounts, EPOCHS, between=between, adds=adds)
    assert (found == "present") is expected


@pytest.mark.parametrize(("reset", "expected"), [("pass", True), ("self.right, self.seen = 0, 0", False)])
def test_each_evaluation_starts_its_own_counts(reset: str, expected: bool) -> None:
    assert (state(metrics.metric_miscounts, OBJECT, reset=reset) == "present") is expected


MEAN = "nn.functional.cross_entropy(model(x), y).item()"


@pytest.mark.parametrize(
    ("adds", "count", "more", "expected"),
    [
        (MEAN, "1", "", "present"),
        ("(model(x).argmax(1) == y).float().mean().item()", "1", "", "present"),
        (MEAN, "1", ", drop_last=True", "absent"),
        (MEAN + " * len(y)", "len(y)", "", "absent"),
        ("score(model, x, y)", "1", "", "unknown"),
    ],
)
def test_means_of_means(adds: str, count: str, more: str, expected: str) -> None:
    assert state(averages.batches_weighed_alike, EVALUATE, adds=adds, count=count, more=more) == expected


@pytest.mark.parametrize(
    ("reads", "expected"),
    [
        ("torch.load('best.pt')", True),
        ("model.load_state_dict(torch.load('best.pt'))", False),
    ],
)
def test_best_weights_thrown_away(reads: str, expected: bool) -> None:
    assert (state(best.last_instead_of_best, BEST, reads=reads) == "present") is expected
