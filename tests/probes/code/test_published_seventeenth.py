"""Ways of published scripts that were taken for faults: second copies, counters, layers that take no one."""

from __future__ import annotations

from pathlib import Path

import pytest

from traindoctor.engine.load import load_rules
from traindoctor.probes.readings import all_probes
from traindoctor.probes.registry import View, read
from traindoctor.probes.scripts import files as script_files

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


def _said(symptom: str, text: str, folder: Path) -> str:
    (folder / "train.py").write_text(text)
    view = View(script_files.read(folder / "train.py").run)
    return read(view, load_rules().symptoms[symptom], all_probes()).state.value


@pytest.mark.parametrize(
    ("second", "told"), [("view(mask, self.size)", False), ("view(x, self.size)", True), ("None", True)]
)
def test_a_second_copy_that_nobody_misses(second: str, told: bool) -> None:
    text = f"""{STEP}
class Net(nn.Module):
    def forward(self, x, mask):
        mask_view = view(mask, self.size)
        other = {second}
        return self.body(x, other)
"""
    assert (state("script-wiring-wrong", text) == P) is told


@pytest.mark.parametrize(
    ("start", "told"), [("train_engine.state.rows = 0", False), ("train_engine.state.rows = load()", True)]
)
def test_what_begins_at_a_number_is_a_counter(start: str, told: bool) -> None:
    text = f"""{STEP}
val_engine = make()
{start}
train_engine.state.rows += 1
"""
    assert (state("script-splits-processed-differently", text) == P) is told


@pytest.mark.parametrize(
    ("layers", "told"),
    [
        ("nn.BatchNorm1d(8)", False),
        ("nn.BatchNorm2d(8)", True),
        ("nn.Conv1d(8, 8, 3), nn.BatchNorm1d(8)", True),
        # pictures of pictures, against a network that judges them
        ("nn.BatchNorm2d(8), nn.ConvTranspose2d(8, 3, 4)); second = torch.optim.SGD(net.parameters()", False),
        ("nn.BatchNorm2d(8), nn.ConvTranspose2d(8, 3, 4)", True),
    ],
)
def test_batch_norm_of_vectors_refuses_one_sample(layers: str, told: bool, tmp_path: Path) -> None:
    text = (
        f"{STEP}\nnet = nn.Sequential({layers})\nloader = torch.utils.data.DataLoader(rows, batch_size=1)\n"
    )

    assert (_said("norm-small-batch", text, tmp_path) == P) is told


@pytest.mark.parametrize(
    ("cycles", "told"),
    [
        ("OneCycleLR(opt, max_lr=1e-4, total_steps=9)", False),
        (
            "OneCycleLR(opt, 1e-4, total_steps=9)\nother = OneCycleLR(opt, 1e-4, total_steps=8)",
            False,
        ),
        ("StepLR(opt, 9)", True),
    ],
)
def test_a_cycle_that_starts_low(cycles: str, told: bool, tmp_path: Path) -> None:
    text = STEP.replace(
        "torch.optim.SGD(net.parameters(), lr=0.1)", "torch.optim.Adam(net.parameters(), lr=1e-6)"
    )
    text += f"from torch.optim.lr_scheduler import OneCycleLR, StepLR\nplan = {cycles}\n"

    assert (_said("lr-very-small", text, tmp_path) == P) is told


@pytest.mark.parametrize(
    ("made", "told"),
    [
        ("tf.keras.losses.get(name)", False),
        ("tf.keras.losses.MeanSquaredError()", True),
        ("tf.keras.losses.MeanSquaredError(reduction='none')", False),
    ],
)
def test_a_loss_by_its_name_gives_each_sample(made: str, told: bool) -> None:
    text = f"""
import tensorflow as tf
loss_object = {made}
def step(x, y):
    with tf.GradientTape() as tape:
        each = loss_object(y, model(x, training=True))
        loss = tf.nn.compute_average_loss(each, global_batch_size=batch)
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
def run(data):
    return strategy.reduce(tf.distribute.ReduceOp.SUM, strategy.run(step, args=data), axis=None)
"""
    assert (state("script-accumulation-wrong", text) == P) is told


@pytest.mark.parametrize(
    ("use", "told"),
    [
        ("action = net(x).argmax(1)", False),
        ("accuracy = (net(x).argmax(1) == y).float().mean()", True),
        ("pred = net(x).argmax(1)\naccuracy = (pred == y).float().mean()", True),
    ],
)
def test_an_argmax_that_nothing_is_held_against(use: str, told: bool) -> None:
    text = STEP.replace("cross_entropy", "mse_loss") + f"acc = 0.0\n{use}\n"

    assert (state("script-loss-wrong", text) == P) is told


def test_a_function_that_picks_by_what_it_is_handed() -> None:
    text = f"""{STEP}
import csv
rows = list(csv.DictReader(open("rows.csv")))
mk = lambda s: [r for r in rows if r["split"] == s]
train_rows, val_rows = mk("train"), mk("dev")
"""
    assert state("script-training-sees-evaluation", text) != P
