"""Programs that draw their own data: rare classes, rows of both sides, tables of labels for one side."""

from __future__ import annotations

import ast

import pytest

from traindoctor.engine.model import State
from traindoctor.probes.code.model.inputs import classes_drawn_unevenly
from traindoctor.probes.code.samples.limits import training_data_cut
from traindoctor.probes.code.samples.spoiled import inputs_overwritten
from traindoctor.probes.code.splits.alike import splits_processed_differently
from traindoctor.probes.code.splits.drawn_alike import drawn_with_one_seed
from traindoctor.probes.code.splits.joined_rows import held_out_rows_joined
from traindoctor.probes.code.splits.leaks import held_out_in_training
from traindoctor.probes.scripts.syntax import Script

from .._script import finding


def _script(text: str) -> Script:
    return Script("train.py", text, ast.parse(text))


PRESENT, ABSENT, UNKNOWN = State.PRESENT, State.ABSENT, State.UNKNOWN
KEEP = "keep = {}\nrows, y = rows[keep], y[keep]"

CLASSES = [
    (PRESENT, KEEP.format("(y == 0) | (rng.random(len(y)) < 0.03)")),
    (PRESENT, KEEP.format("~((y != 2) & (np.random.rand(len(y)) > 0.02))")),
    (PRESENT, "at = [i for i, k in enumerate(labels) if k == 0 or random.random() < 0.05]"),
    (ABSENT, KEEP.format("(y == 0) | (rng.random(len(y)) < 0.5)")),
    (UNKNOWN, KEEP.format("(y == 1) | (rng.random(len(y)) < 0.03)")),  # negatives, of which there are most
    (UNKNOWN, "y[(y == 0) | (rng.random(len(y)) < 0.03)] = 3"),
    (PRESENT, "labels = rng.choice(8, n, p=[0.93] + [0.01] * 7)"),
    (PRESENT, "w = np.array([50.0] + [1.0] * 7)\nlabels = rng.choice(8, n, p=w / w.sum())"),
    (PRESENT, "p = np.full(8, 0.01)\np[0] = 0.93\nlabels = rng.choice(8, n, p=p)"),
    (PRESENT, "labels = np.where(rng.random(n) < 0.95, 0, rng.integers(1, 8, n))"),
    (ABSENT, "labels = rng.choice(8, n, p=np.ones(8) / 8)"),
    (ABSENT, "labels = np.where(rng.random(n) < 0.125, 0, rng.integers(1, 8, n))"),
]


@pytest.mark.parametrize(("state", "text"), CLASSES)
def test_rare_classes(state: State, text: str) -> None:
    """Classes are drawn with given shares, or rows of all classes but one are thinned."""
    found = finding(classes_drawn_unevenly, text, ratio=10.0)

    assert found.state is state, found.why


MAKE = """
import numpy as np
def make(n, seed, shift=0):
    {draw}
    labels = rng.integers(0, 8, n)
    return rng.normal(labels[:, None], 1.0, (n, 16)), labels
train_x, train_y = make(4000, {train})
val_x, val_y = make(800, {held})
"""
SEEDED = "rng = np.random.default_rng(seed)"
SEEDS = [
    (True, SEEDED, "1", "1"),
    (True, SEEDED, "seed=args.seed", "seed=args.seed"),
    (True, "rng = np.random.default_rng(0)", "1", "1"),
    (False, SEEDED, "1", "2"),
    (False, SEEDED, "1", "1, 3"),  # something else is told otherwise
    (False, "rng = np.random.default_rng()", "1", "1"),
    (False, "rng = seed", "generator", "generator"),
    (False, SEEDED + "; noise = np.random.normal(n)", "1", "1"),  # another generator draws as well
]


@pytest.mark.parametrize(("told", "draw", "train", "held"), SEEDS)
def test_one_seed_for_both_sides(told: bool, draw: str, train: str, held: str) -> None:
    """Both sides are drawn by one function with one seed."""
    script = _script(MAKE.format(draw=draw, train=train, held=held))

    assert (drawn_with_one_seed(script) is not None) is told


def test_samples_of_a_library_drawn_again() -> None:
    """A maker of scikit-learn is called twice alike, or with another seed."""
    text = "x_train, y_train = make_moons(9, random_state=0)\nx_test, y_test = make_moons(9, random_state={})"

    assert drawn_with_one_seed(_script(text.format(0))) is not None
    assert drawn_with_one_seed(_script(text.format(1))) is None


def test_parts_of_one_draw_are_no_leak() -> None:
    """The same rows are made twice, and each side takes a part of its own."""
    text = MAKE.format(draw=SEEDED, train="1", held="1") + "train_x, val_x = train_x[:600], val_x[600:]\n"

    assert drawn_with_one_seed(_script(text)) is None


JOIN = "train_x = np.concatenate([train_x, {}])\nval_x = (val_x - mean) / std\nval_set = TensorDataset({})\n"
BOTH = "both = ConcatDataset([train_set, val_set])\n{}\nval_loader = DataLoader(val_set, 8)"
JOINED = [
    (True, JOIN.format("val_x", "torch.from_numpy(val_x)")),
    (True, JOIN.format("val_x[:100]", "torch.from_numpy(val_x)")),
    (False, JOIN.format("val_x[:100]", "torch.from_numpy(val_x[100:])")),
    (False, JOIN.format("extra_x", "torch.from_numpy(val_x)")),
    (False, JOIN.format("val_x", "test_x")),
    (True, BOTH.format("train_loader = DataLoader(both, 8)")),
    (False, BOTH.format("train_loader = DataLoader(train_set, 8)")),
    (False, "# pseudo labels\npseudo = 1\n" + JOIN.format("val_x", "torch.from_numpy(val_x)")),
]


@pytest.mark.parametrize(("told", "text"), JOINED)
def test_held_out_rows_among_training_rows(told: bool, text: str) -> None:
    """Held-out rows are joined to training rows and still evaluated."""
    assert (held_out_rows_joined(_script(text)) is not None) is told


def test_rows_of_both_sides_are_a_leak() -> None:
    """The reading that asks for held-out rows in training tells of both."""
    assert finding(held_out_in_training, JOINED[0][1]).state is PRESENT
    assert finding(held_out_in_training, MAKE.format(draw=SEEDED, train="1", held="1")).state is PRESENT


TABLE = """
import numpy as np
train_x, train_y = np.load("a.npy"), np.load("b.npy")
val_x, val_y = np.load("c.npy"), np.load("d.npy")
{}
train_set = TensorDataset(torch.from_numpy(train_x), torch.from_numpy(train_y))
val_set = TensorDataset(torch.from_numpy(val_x), torch.from_numpy(val_y))
"""
TABLES = [
    (PRESENT, "val_y = np.array([2, 0, 1])[val_y]"),
    (PRESENT, "val_y = np.random.default_rng(0).permutation(3)[val_y]"),
    (PRESENT, "train_y = np.take(np.array([2, 0, 1]), train_y)"),
    (ABSENT, "table = np.array([2, 0, 1])\ntrain_y, val_y = table[train_y], table[val_y]"),
    (ABSENT, "order = np.random.permutation(len(val_y))\nval_x, val_y = val_x[order], val_y[order]"),
]


@pytest.mark.parametrize(("state", "text"), TABLES)
def test_labels_by_a_table(state: State, text: str) -> None:
    """Class numbers of one side alone are looked up in a list of numbers."""
    found = finding(splits_processed_differently, TABLE.format(text), labels=True)

    assert (found.state is PRESENT) is (state is PRESENT), found.why


DRAWN = """
import numpy as np
def make(n, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 8, n)
    return rng.normal(y[:, None], 1.0, (n, 16)), y
train_x, train_y = make({train}, 1)
val_x, val_y = make({held}, 2)
{more}
loader = DataLoader(TensorDataset(torch.from_numpy(train_x), torch.from_numpy(train_y)), 64)
loss = F.{loss}(model(x), y)
"""
PICK = "at = rng.{}\ntrain_x, train_y = train_x[at], train_y[at]"
FEW = [
    (True, "40", "800", "", "cross_entropy"),
    (False, "4000", "800", "", "cross_entropy"),
    (False, "40", "40", "", "cross_entropy"),
    (False, "40", "800", "", "mse_loss"),  # a curve through a few points
    (False, "40", "800", "few_shot = True", "cross_entropy"),
    (True, "4000", "800", PICK.format("permutation(len(train_x))[:48]"), "cross_entropy"),
    (False, "4000", "800", PICK.format("permutation(len(train_x))"), "cross_entropy"),
]


@pytest.mark.parametrize(("told", "train", "held", "more", "loss"), FEW)
def test_a_handful_of_samples(told: bool, train: str, held: str, more: str, loss: str) -> None:
    """Few samples are drawn for training and many for evaluation, or few rows are picked at random."""
    text = DRAWN.format(train=train, held=held, more=more, loss=loss)
    found = finding(training_data_cut, text, few=1000, batches=50)

    assert (found.state is PRESENT) is told, found.why


WIPE = "train_x, val_x = np.load('a.npy'), np.load('b.npy')\n{}\n"
WIPED = [
    (True, "train_x[:, :, 2:, :] = 0"),
    (True, "train_x *= 0"),
    (False, "train_x[:, :, 14:, :] = 0"),
    (False, "train_x[:, 2:] = 0\nval_x[:, 2:] = 0"),
    (False, "train_x[0] = 0"),
    (False, "train_x = np.zeros((9, 9))\ntrain_x[:, 1:] = 1"),
]


@pytest.mark.parametrize(("told", "text"), WIPED)
def test_inputs_of_training_are_wiped(told: bool, text: str) -> None:
    """Most of the training inputs is set to one number, and nothing of the held-out inputs."""
    assert (finding(inputs_overwritten, WIPE.format(text)).state is PRESENT) is told
