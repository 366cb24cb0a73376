"""Settings that scripts name, where the name may stand for something else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from traindoctor.probes.assembly.assemble import open_run

from .._read import reading

TORCH = """
import torch
{}
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for x, y in loader:
    optimizer.zero_grad()
    loss = loss_of(model(x), y)
    loss.backward()
    optimizer.step()
"""
GRAPH = """
import tensorflow as tf
x = tf.placeholder(tf.float32, [None, 20])
{}
optimizer = tf.train.AdamOptimizer(1e-3).minimize(cost)
"""


def state(folder: Path, symptom: str, text: str, *, area: str = "settings", **rest: Any) -> str:
    (folder / "train.py").write_text(text, **rest)
    return str(reading(area, symptom, open_run(folder)).state)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("n_samples = 32\npoints = torch.distributions.Uniform(0, 1).sample((n_samples,))", "unknown"),
        ("n_samples = 32\nX, y = make_moons(n_samples=n_samples)", "present"),
        ("n_samples = 32\ndata = ToyDataset(n_samples)", "present"),
        ("n_train = 32", "present"),
    ],
)
def test_samples_of_anything(tmp_path: Path, lines: str, expected: str) -> None:
    """`n_samples` counts training samples where data are made of so many."""
    assert state(tmp_path, "train-samples-few", TORCH.format(lines)) == expected


def test_a_share_that_a_graph_keeps(tmp_path: Path) -> None:
    """`dropout = 0.8` of TensorFlow 1 may say what is kept; elsewhere it says what is dropped."""
    assert state(tmp_path, "dropout-large", GRAPH.format("dropout = 0.8")) == "unknown"
    assert state(tmp_path, "dropout-large", TORCH.format("dropout = 0.8")) == "present"


@pytest.mark.parametrize(("value", "expected"), [("1", "unknown"), ("0.9", "present"), ("0.1", "absent")])
def test_a_smoothing_of_one_smooths_no_labels(tmp_path: Path, value: str, expected: str) -> None:
    """A share of labels is below one."""
    text = TORCH.format(f"config = dict(smoothing={value})")

    assert state(tmp_path, "label-smoothing-large", text) == expected
    assert (state(tmp_path, "regularization-large", text) == "present") is (expected == "present")
