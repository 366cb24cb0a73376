"""Masks of sound that a network of a script puts on whatever its mode, and published figures exchanged."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import argument, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at, ok
from ..shared.roles import is_random

# torchaudio's masks draw in every call and know no mode (pytorch.org/audio, transforms)
_MASKS = ("FrequencyMasking", "TimeMasking", "SpecAugment")
# of ImageNet's pixels: (0.485, 0.456, 0.406) and (0.229, 0.224, 0.225)
_DEVIATIONS = (0.229, 0.224, 0.225)


def masked_in_every_mode(source: Script) -> Finding | None:
    """`x = self.spec_aug(x)` in a forward that does not ask for `self.training`."""
    if not any(m in source.code for m in (*_MASKS, "aug")):
        return None
    seen: ast.AST | None = None
    for function in source.forwards:
        owner = source.class_around(function)
        if owner is None or not _in_network(source, owner):
            continue
        held = {
            unparse(t)
            for n in of(owner, ast.Assign)
            if any(last_name(c.func) in _MASKS and not _chosen(source, c) for c in of(n.value, ast.Call))
            for t in n.targets
        } | _own_augmentation(owner)
        for call in of(function, ast.Call):
            if unparse(call.func) not in held:
                continue
            seen = seen or call
            asked = any(
                isinstance(p, (ast.If, ast.IfExp)) and re.search(r"(?i)train|aug|mode", unparse(p.test))
                for p in source.above(call)
            )
            leaves = re.search(r"not self\.training", unparse(function)) is not None
            if not asked and not leaves:
                return at(
                    source, call, "held-out samples are masked at random, too: nothing asks for the mode"
                )
    return ok(source, seen, "masks of sound are put on in training") if seen is not None else None


_AUGMENTS = re.compile(r"(?i)(?:^|_)aug(?:ment\w*)?(?:_|$)")


def _own_augmentation(owner: ast.ClassDef) -> set[str]:
    """`self.spec_augment`: a method that is called so, draws at random, and does not ask for the mode."""
    return {
        f"self.{f.name}"
        for f in owner.body
        if isinstance(f, ast.FunctionDef) and _AUGMENTS.search(f.name) and ".training" not in unparse(f)
        if any(is_random(c) for c in of(f, ast.Call))
    }


_LAYERS = re.compile(
    r"^(?:Linear|LazyLinear|Conv\w*|LSTM|GRU|RNN|Embedding|\w*Norm\w*|Transformer\w*|Parameter)$"
)


def _in_network(source: Script, owner: ast.ClassDef) -> bool:
    """A class holds layers, or another module holds it; a step of processing is made for one side's data."""
    held = {last_name(c.func) for c in of(owner, ast.Call)}
    around = [m for m in source.modules if m is not owner]
    inside = any(last_name(c.func) == owner.name for m in around for c in of(m, ast.Call))
    return inside or any(_LAYERS.match(h) for h in held)


def _chosen(source: Script, made: ast.AST) -> bool:
    """`self.aug = Masks() if train else Identity()`: whoever makes the module says what it is for."""
    return any(isinstance(p, (ast.If, ast.IfExp)) for p in source.above(made))


def mean_for_deviation(source: Script) -> Finding | None:
    """`Normalize(mean=[0.229, 0.224, 0.225], std=[0.485, ...])`: ImageNet's figures, exchanged."""
    for call in source.named("Normalize"):
        mean = argument(call, "mean", position=0)
        if mean is None:
            continue
        for value in (mean, *flow(source).values(mean, 3)):
            if isinstance(value, (ast.List, ast.Tuple)) and len(value.elts) == 3:
                figures = [e.value for e in value.elts if isinstance(e, ast.Constant)]
                if tuple(figures) == _DEVIATIONS:
                    return at(source, call, "the deviations of ImageNet are given as its means")
    return None
