"""A divisor that may be zero, in a run whose losses say whether it ever was."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from traindoctor.engine.model import State
from traindoctor.probes.code.loss.unsafe import division_without_floor, unsafe_division
from traindoctor.probes.config.splits import splits_differ
from traindoctor.probes.registry import View

from .._build import run, series
from .._script import finding

SCRIPT = """
import torch
def features(wave):
    feats = torch.log(wave.abs() + 1e-6)
    return (feats - feats.mean((1, 2), keepdim=True)) / feats.std((1, 2), keepdim=True)
"""
FALLING = np.linspace(2.0, 0.1, 12)


def _view(values: object, held: object = None) -> View:
    curves = [series("train/loss", values)]
    if held is not None:
        curves.append(series("eval/loss", held))
    return View(replace(run(curves), scripts={"train.py": SCRIPT}), None)


@pytest.mark.parametrize("probe", [unsafe_division, division_without_floor])
def test_what_never_was_zero(probe: object) -> None:
    """Losses that are numbers to the end: no sample had a spread of zero."""
    assert probe(_view(FALLING)).state is State.ABSENT  # type: ignore[operator]
    assert probe(_view(FALLING, FALLING)).state is State.ABSENT  # type: ignore[operator]


@pytest.mark.parametrize("probe", [unsafe_division, division_without_floor])
def test_what_may_have_been_zero(probe: object) -> None:
    """A loss that is no number, one of the evaluation alone, too few points, or no run at all."""
    broken = np.where(np.arange(12) < 5, FALLING, np.nan)
    for view in (_view(broken), _view(FALLING, broken), _view(FALLING[:2])):
        assert probe(view).state is State.PRESENT  # type: ignore[operator]
    assert finding(probe, SCRIPT).state is State.PRESENT  # type: ignore[arg-type]


LOOP = """
net = torch.nn.Linear(9, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(100):
    loss = torch.nn.functional.cross_entropy(net(train_x[i : i + 9]), train_y[i : i + 9])
    loss.backward()
    opt.step()
net.eval()
with torch.no_grad():
    print(torch.nn.functional.cross_entropy(net(dev_x), dev_y))
"""


@pytest.mark.parametrize(
    ("axes", "own"),
    [
        ("(1, 2), keepdim=True", False),
        ("dim=-1, keepdim=True", False),
        ("0, keepdim=True", True),
        ("0", True),
    ],
)
def test_a_figure_of_each_sample_is_not_learned_from_the_set(axes: str, own: bool) -> None:
    """The mean over all but the first axis is one for each sample; that over the first is the set's."""
    text = f"""
def scaled(x):
    return (x - x.mean({axes})) / (x.std({axes}) + 1e-6)
def clips(n, seed):
    g = torch.Generator().manual_seed(seed)
    kind = torch.randint(0, 2, (n,), generator=g)
    return torch.randn(n, 9, 4, generator=g) + kind[:, None, None], kind
wave, kind = clips(900, 5)
train_x, train_y = scaled(wave), kind
wave, kind = clips(200, 6)
dev_x, dev_y = scaled(wave), kind
{LOOP}"""
    found = finding(splits_differ, text)
    assert (found.state is State.PRESENT) == own, found


@pytest.mark.parametrize(
    ("held", "expected"),
    [("made(opt.dev_hours, 200)", False), ("made(opt.dev_hours, 200) / 9", True)],
)
def test_two_sets_made_by_one_function(held: str, expected: bool) -> None:
    """`train, dev = made(opt.hours, 100), made(opt.dev_hours, 200)`: the same is done to both."""
    text = f"""
train, dev = made(opt.hours, 100), made(opt.dev_hours, 200)
train, dev = made(opt.hours, 100), {held}
train_x, train_y = train[:, 1:], train[:, 0]
dev_x, dev_y = dev[:, 1:], dev[:, 0]
{LOOP}"""
    found = finding(splits_differ, text)
    assert (found.state is State.PRESENT) == expected, found


COLUMNS = (
    """
import numpy as np
import torch
x = np.load("x.npy")
x = (x - x[:900].mean(0)) / x[:900].std(0)
train_x, dev_x = x[:900], x[900:]
"""
    + LOOP
)


def test_columns_that_were_no_numbers_show_from_the_first_loss_on() -> None:
    """What is divided once, before training, spoils every sample or none."""
    later = np.where(np.arange(12) < 5, FALLING, np.nan)
    curves = {"later": later, "at once": np.full(12, np.nan)}

    def found(curve: str, script: str) -> State:
        made = run([series("train/loss", curves[curve])])
        return division_without_floor(View(replace(made, scripts={"train.py": script}), None)).state

    assert found("later", COLUMNS) is State.ABSENT
    assert found("at once", COLUMNS) is State.PRESENT
    assert found("later", COLUMNS.replace("x = (x", "for x in xs:\n    x = (x")) is State.PRESENT
    assert finding(division_without_floor, COLUMNS).state is State.PRESENT
    assert finding(unsafe_division, COLUMNS).state is not State.PRESENT
