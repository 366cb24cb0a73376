"""A classifier's head that is wrapped after the network was made, so that it ends in a ReLU."""

from __future__ import annotations

import ast
import re

from ...readers._tree import names_in, of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.flow import losses
from ...scripts.syntax import Script
from ..shared.checks import at

_HEADS = ("classifier", "fc", "head", "score", "lm_head", "qa_outputs", "output", "logits", "last_linear")
_STACKS = ("Sequential", "ModuleList", "ModuleDict")
_CUT = ("ReLU", "ReLU6")
_CLASSIFIES = re.compile(r"For\w*(?:Classification|MultipleChoice)\b")
_OF_SCORES = re.compile(r"(?i)cross_?entropy|with_?logits|nll")


def head_cut(source: Script) -> Finding | None:
    """`model.classifier = nn.Sequential(model.classifier, nn.ReLU())`, and the loss takes the scores.

    Not told: a body whose head is wrapped and that feeds another network (features), a regression, and parts
    of a module of one's own (`self.fc`), whose output is not known here.
    """
    for node in source.of(ast.Assign):
        target, value = node.targets[0], node.value
        if not isinstance(target, ast.Attribute) or target.attr not in _HEADS:
            continue
        if not isinstance(target.value, ast.Name) or target.value.id == "self":
            continue
        if not isinstance(value, ast.Call) or last_name(value.func) != "Sequential" or len(value.args) < 2:
            continue
        before, last = value.args[-2:]
        if not (isinstance(last, ast.Call) and last_name(last.func) in _CUT):
            continue
        wraps = unparse(before) == unparse(target)
        made = isinstance(before, ast.Call) and last_name(before.func) in ("Linear", "LazyLinear")
        if (wraps or made) and _scores(source, target.value.id, node):
            return at(source, node, "the head ends in a ReLU, so that the loss never gets a negative score")
    return None


def _scores(source: Script, name: str, node: ast.Assign) -> bool:
    """What the network gives is what the loss takes: a Trainer's classifier, or the only network there is."""
    if any(
        name in names_in(a)
        for c in source.calls
        if last_name(c.func) in ("Sequential", "ModuleList", "ModuleDict")
        or last_name(c.func) in source.classes
        for a in (*c.args, *(k.value for k in c.keywords))
        if c is not node.value
    ):
        return False  # it feeds another network
    trained = [c for c in source.calls if last_name(c.func).endswith("Trainer")]
    if any(name in names_in(a) for c in trained for a in (*c.args, *(k.value for k in c.keywords))):
        made = [m for m in source.of(ast.Assign) if any(unparse(t) == name for t in m.targets)]
        return any(_CLASSIFIES.search(unparse(c.func)) for m in made for c in of(m.value, ast.Call))
    direct = any(isinstance(c.func, ast.Name) and c.func.id == name for c in source.calls)
    return direct and any(_OF_SCORES.search(kind) for _, kind in losses(source))
