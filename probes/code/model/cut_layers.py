"""Layers of a model that a forward pass runs for nothing, in scripts: no gradient gets back, or no value out.

What counts is the layer, not the cut: of a value that is cut off and goes on uncut as well (a second head, a
straight-through estimator, a state that is carried) gradients get back all the same.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ..loss.cuts import is_packed
from ..loss.meant_cuts import says_pretrained
from ..shared.checks import at
from .reach import Reach, layers_with_weights, reach, read_elsewhere

_ASIDE = re.compile(
    r"(?i)teacher|ema|target|momentum|froz|freez|fixed|code_?book|quant|vq|ref|prior|ssl|bert|clip|vgg|dino|tokeni"
    r"|mel|stft|spec|detach|stop_grad|no_grad|probe|aux|online|_old|old_|predictor|real\b|fake"
)
_CUTS = re.compile(r"detach|no_grad|stop_gradient")


def layer_cut_off(source: Script) -> Finding | None:
    """Layers that start at random, and whose values reach the output only behind a cut of the gradient.

    Left aside: what is frozen, loaded, written into by hand, run elsewhere as well, or named as one that is
    not trained by this pass (a teacher, a codebook, a probe on fixed features).
    """
    for owner, function, found, layers in _followed(source):
        text = unparse(owner)
        if _ASIDE.search(owner.name) or re.search(r"\.update\(|lerp_|\.data\.copy_|load_state_dict", text):
            continue
        for name in layers:
            if name not in found.called or name in found.out.live or name not in found.out.cut:
                continue
            if _ASIDE.search(name) or _asked(source, found.cuts.get(name)) or _is_frozen(source, name):
                continue
            if read_elsewhere(source, owner, name, _passes(owner, function)):
                continue
            cut = found.cuts.get(name) or found.called[name][0]
            if _is_meant(source, cut) or any(
                unparse(v) == unparse(layers[name]) for v in _live(found, layers)
            ):
                continue
            if not _ASIDE.search(_CUTS.sub("", source.line(cut))):
                return at(source, cut, f"no gradient gets back to {name}: what it gives is cut off here")
    return None


def layer_without_value(source: Script) -> Finding | None:
    """Layers with weights that the forward pass calls and of whose values nothing gets out.

    Another value takes the name before anything reads it: `h = self.c1(x)`, then `h = self.c2(x)`.
    """
    for owner, function, found, layers in _followed(source):
        for name in layers:
            if name not in found.called or name in _all(found):
                continue
            calls = found.called[name]
            statement = source.statement(calls[0])
            if not isinstance(statement, ast.Assign) or _ASIDE.search(name):
                continue
            told = [n.id for t in statement.targets for n in of(t, ast.Name)]
            if all(t.startswith("_") for t in told) or re.search(r"(?i)quant|observ|hook", unparse(function)):
                continue
            if read_elsewhere(source, owner, name, _passes(owner, function)):
                continue
            return at(source, calls[0], f"what {name} gives is replaced before anything reads it")
    return None


def _all(found: Reach) -> frozenset[str]:
    return found.out.live | found.out.cut | found.aside.live | found.aside.cut


def _followed(source: Script) -> Iterator[tuple[ast.ClassDef, Function, Reach, dict[str, ast.expr]]]:
    """Forward methods that could be followed, with the layers of their class that start at random."""
    for function in source.forwards:
        owner = source.parents.get(function)
        if not isinstance(owner, ast.ClassDef) or owner not in source.modules:
            continue
        layers = layers_with_weights(source, owner)
        if not layers or any(last_name(b) in source.classes for b in owner.bases):
            continue
        found = reach(source, owner, function, _modules_of(owner))
        if found is not None and found.out.live | found.out.cut:
            yield owner, function, found, layers


def _modules_of(owner: ast.ClassDef) -> set[str]:
    """Attributes of self that are made by a call, whatever it makes."""
    return {
        t.attr
        for n in of(owner, ast.Assign)
        for t in n.targets
        if isinstance(t, ast.Attribute) and unparse(t.value) == "self" and isinstance(n.value, ast.Call)
    }


def _passes(owner: ast.ClassDef, function: Function) -> list[ast.AST]:
    """The forward method and what it runs of the same class."""
    methods = {f.name: f for f in owner.body if isinstance(f, ast.FunctionDef)}
    found: list[ast.AST] = [function]
    for one in found:
        for call in of(one, ast.Call):
            method = methods.get(last_name(call.func))
            if method is not None and method not in found and unparse(call.func).startswith("self."):
                found.append(method)
    return found


def _live(found: Reach, layers: dict[str, ast.expr]) -> list[ast.expr]:
    """What makes the layers that gradients get back to: one of two made alike may be the other's average."""
    return [v for n, v in layers.items() if n in found.out.live]


def _is_meant(source: Script, cut: ast.AST) -> bool:
    """The values of a packed sequence, or a block whose method asserts that it is never in training."""
    blocks = [p for p in source.above(cut) if isinstance(p, ast.With)]
    return is_packed(flow(source), cut) or any(says_pretrained(source, b) for b in blocks)


def _asked(source: Script, cut: ast.AST | None) -> bool:
    """A switch or a mode decides about the cut."""
    return cut is not None and any(isinstance(p, (ast.If, ast.IfExp)) for p in source.above(cut))


def _is_frozen(source: Script, name: str) -> bool:
    """Somewhere the parameters of an attribute of this name are switched off, loaded or written."""
    for node in source.mentions.get(name, ()):
        if isinstance(node, ast.Attribute):
            statement = source.statement(node)
            around = [statement, *(p for p in source.above(node) if isinstance(p, ast.For))]
            if any(
                re.search(r"requires_grad|freez|\.eval\(|load|copy_|\.data\b.*=", unparse(s))
                for s in around
                if s is not None and len(unparse(s)) < 600
            ):
                return True
    return False
