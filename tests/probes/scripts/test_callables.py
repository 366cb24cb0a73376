"""Which functions a called expression runs: closures, partials, lists of functions, registries."""

from __future__ import annotations

import ast

import pytest

from traindoctor.probes.scripts.flow import flow, losses
from traindoctor.probes.scripts.minimised import makers
from traindoctor.probes.scripts.syntax import Script

PINBALL = """
from functools import partial
import torch
def pinball(level, guess, truth):
    return torch.maximum(level * (truth - guess), (level - 1) * (truth - guess)).mean()
"""
CLOSURE = (
    PINBALL
    + """
def objective(levels):
    parts = [partial(pinball, level) for level in levels]
    def total(out, truth):
        return sum(part(out[:, k], truth) for k, part in enumerate(parts))
    return total
def make_step(net, opt, loss_fn):
    def step(x, y):
        value = loss_fn(net(x), y)
        value.backward()
    return step
step = make_step(net, opt, objective([0.1, 0.9]))
"""
)
ATTRIBUTE = (
    PINBALL
    + """
class Learner:
    def __init__(self, net):
        self.net, self.loss_fn = net, partial(pinball, 0.5)
    def fit(self, x, y):
        self.loss_fn(self.net(x), y).backward()
"""
)
REGISTRY = """
import torch
from torch import nn
from dataclasses import dataclass
LOSSES = {}
def register(name):
    def wrap(fn):
        LOSSES[name] = fn
        return fn
    return wrap
@register("several")
def several(weight):
    return nn.BCEWithLogitsLoss(pos_weight=weight)
@register("single")
def single(weight):
    return nn.CrossEntropyLoss()
@dataclass
class Config:
    loss: str = "KIND"
class Service:
    def __init__(self, config: Config):
        self.criterion = LOSSES[config.loss](weight).to(device)
    def run(self, x, y):
        loss = self.criterion(self.net(x), y)
        loss.backward()
"""


def script(text: str) -> Script:
    return Script("train.py", text, ast.parse(text))


@pytest.mark.parametrize("text", [CLOSURE, ATTRIBUTE])
def test_makers_behind_other_names(text: str) -> None:
    assert "pinball" in {f.name for f in makers(script(text))}


def test_arguments_of_a_partial_are_counted_from_behind() -> None:
    source = script(ATTRIBUTE)
    guess = next(n for n in ast.walk(source.tree) if isinstance(n, ast.Name) and n.id == "guess")
    assert [ast.unparse(a) for a in flow(source).arguments(guess)] == ["self.net(x)"]


def test_unknown_callables_stay_unknown() -> None:
    source = script(CLOSURE.replace("objective([0.1, 0.9])", "imported([0.1, 0.9])"))
    assert "pinball" not in {f.name for f in makers(source)}


@pytest.mark.parametrize(("key", "kind"), [("several", "bcewithlogitsloss"), ("single", "crossentropyloss")])
def test_registry_is_read_by_the_default_of_its_key(key: str, kind: str) -> None:
    assert [k for _, k in losses(script(REGISTRY.replace("KIND", key)))] == [kind]


def test_registry_with_an_unknown_key_tells_nothing() -> None:
    source = script(REGISTRY.replace('str = "KIND"', "str"))
    assert [k for _, k in losses(source) if k] == []


@pytest.mark.parametrize(
    ("call", "handed"),
    [
        ("fit(net, x)", ["net"]),
        ("loops.fit(net, x)", ["net"]),  # of a module
        ("make_scaler().fit(table, x)", []),  # a method of another thing
        ("scaler.fit(table, x)", []),
        ("holder.inner.fit(table, x)", []),
    ],
)
def test_a_method_of_a_functions_name_is_not_that_function(call: str, handed: list[str]) -> None:
    """What `scaler.fit(table)` is given does not reach `def fit(model, x)`."""
    source = script(f"import loops\ndef fit(model, x):\n    use(model)\n{call}\n")
    mine = flow(source)
    model = source.named("use")[0].args[0]

    assert [ast.unparse(a) for a in mine.arguments(model)] == handed
    assert [f.name for f in mine.called(source.named("fit")[0])] == ["fit"] * len(handed)
