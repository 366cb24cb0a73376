"""A model that is made anew after the training and evaluated: its weights are random."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import all_arguments, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.learning import training_over, trainings
from ...scripts.syntax import Function, Script
from ..optimizer.cover import MOVES
from ..optimizer.replaced import makes_model, moved
from ..shared.checks import at

_EVALUATES = re.compile(r"(?i)eval|test|valid|score|predict|infer|accuracy|measure")
_HELD_AGAINST = re.compile(
    r"(?i)random|untrained|baseline|scratch|fresh|initial|reference|teacher|control|dummy"
)
_READS = re.compile(r"(?i)load|restore|pretrained|checkpoint|ckpt|weights|state_dict|path|copy")
_HARMLESS = (*MOVES, "eval", "train", "requires_grad_", "set_train")


def made_anew_for_evaluation(source: Script) -> Finding | None:
    """`model = Net(...)` after the training, with nothing loaded into it, and then its score is taken.

    Left aside: what is held against the trained model, under a name that says so or beside it, and any use
    that may give it weights.
    """
    mine = flow(source)
    for node in source.of(ast.Assign) if source.modules else ():
        made = moved(node.value)
        if len(node.targets) != 1 or not isinstance(made, ast.Call) or not training_over(source, node):
            continue
        name = unparse(node.targets[0])
        if _HELD_AGAINST.search(name) or _READS.search(unparse(node.value)) or not makes_model(mine, made):
            continue
        own = source.classes.get(last_name(made.func))
        makers: list[ast.AST] = (
            [own] if own is not None else list(mine.functions.get(last_name(made.func), []))
        )
        if any(_READS.search(last_name(c.func)) for m in makers for c in of(m, ast.Call)):
            continue
        scope = source.function_around(node)
        trained = _trained(source, scope)
        end = (node.end_lineno or node.lineno, node.end_col_offset or 0)  # others may follow on its line
        every = of(scope or source.tree, ast.Name, ast.Attribute)
        later = [n for n in every if (n.lineno, n.col_offset) >= end]
        others = {unparse(n) for n in later} & (trained - {name})
        uses = [n for n in later if unparse(n) == name and source.function_around(n) is scope]
        if trained and not others and uses and all(_scored(source, n) is not None for n in uses):
            if any(_scored(source, n) for n in uses):
                return at(
                    source, node, "the model is made anew after its training: random weights are evaluated"
                )
    return None


def _trained(source: Script, scope: Function | None) -> set[str]:
    """What the trainings of a function are handed, and what its optimizers hold."""
    ran = trainings(source, scope)
    calls = [*ran, *(c for c in source.optimizer_calls if source.function_around(c) is scope)]
    given = [n for c in calls for a in all_arguments(c) for n in of(a, ast.Name, ast.Attribute)]
    return {unparse(n) for n in given}


def _scored(source: Script, use: ast.expr) -> bool | None:
    """Whether a use takes a score (True) or changes nothing (False); None for what may give it weights."""
    parent = source.parents.get(use)
    if isinstance(parent, ast.Attribute):
        return False if parent.attr in _HARMLESS else None
    if isinstance(parent, ast.keyword):
        parent = source.parents.get(parent)
    if not isinstance(parent, ast.Call):
        return None
    if parent.func is use:
        return True
    functions = flow(source).functions.get(last_name(parent.func), [])
    if any(_READS.search(last_name(c.func)) for f in functions for c in of(f, ast.Call)):
        return None
    return True if _EVALUATES.search(last_name(parent.func)) else None
