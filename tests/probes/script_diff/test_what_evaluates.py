"""Functions that evaluate whatever they are called: an edit in them is one of the evaluation."""

from __future__ import annotations

from pathlib import Path

import pytest

from .. import _pairs

RIGHT = """
import numpy as np
import torch
import torch.nn as nn

data = np.load("plots.npz")
x, y = torch.from_numpy(data["x"]), torch.from_numpy(data["y"])
QUERY, GALLERY = data["query"], data["gallery"]
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 4))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)


def embed(rows):
    return net(x[rows])


def retrieval():
    net.eval()
    with torch.no_grad():
        q, g = embed(QUERY), embed(GALLERY)
    hit = 0
    for i in range(len(QUERY)):
        order = torch.argsort(q[i] @ g.t(), descending=True)
        hit += (y[GALLERY[order[:5]]] == y[QUERY[i]]).any().item()
    return hit / len(QUERY)


best = 0.0
for step in range(1000):
    net.train()
    k = torch.randint(0, 500, (32,))
    loss = nn.functional.cross_entropy(net(x[k]), y[k])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 100 == 0:
        now = retrieval()
        if now > best:
            best = now
            torch.save(net.state_dict(), "plots.pt")
"""


def edits(folder: Path, *pairs: tuple[str, str]) -> set[str]:
    """The kinds of edits that are told of the edited program beside the right one."""
    text = RIGHT
    for old, new in pairs:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return _pairs.edits(folder, text, RIGHT)


@pytest.mark.parametrize(
    "pair",
    [
        ("q[i] @ g.t(), descending=True", "q[i] @ g.t()"),
        ("return hit / len(QUERY)", "return hit / len(GALLERY)"),
        ("order[:5]", "order[:1]"),
    ],
)
def test_a_function_of_any_name_that_switches_to_evaluation_measures(
    tmp_path: Path, pair: tuple[str, str]
) -> None:
    assert "edit-metric" in edits(tmp_path, pair)


def test_a_save_that_left_the_choice_is_about_the_best(tmp_path: Path) -> None:
    pair = (
        '            torch.save(net.state_dict(), "plots.pt")',
        '        torch.save(net.state_dict(), "plots.pt")',
    )
    assert "edit-best-checkpoint" in edits(tmp_path, pair)


def test_a_switch_behind_the_calls_of_the_model_is_one_of_its_mode(tmp_path: Path) -> None:
    moved = (
        ("    net.eval()\n    with", "    with"),
        ("embed(GALLERY)\n    hit", "embed(GALLERY)\n    net.eval()\n    hit"),
    )
    assert edits(tmp_path, *moved) <= {"edit-mode"}


def test_an_order_of_negatives_is_the_order_downwards(tmp_path: Path) -> None:
    assert not edits(tmp_path, ("q[i] @ g.t(), descending=True", "-(q[i] @ g.t())"))


def test_a_training_step_is_no_evaluation(tmp_path: Path) -> None:
    assert "edit-metric" not in edits(tmp_path, ("net(x[k]), y[k])", "net(x[k]), y[k], label_smoothing=0.1)"))
