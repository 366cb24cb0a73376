"""Pipelines of transforms in scripts: normalisation of training and held-out data."""

from __future__ import annotations

import ast
import re

from ...readers._tree import unparse
from ...readers.script import last_name, parsed
from ...registry import NO_SCRIPT, Finding, View, probe, unknown
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at, ok, scripts
from ..shared.roles import split_of, trains
from ..shared.sides import side
from ..shared.uses import side_served
from ..splits.sides_crossed import part_of
from .again import step_made


@probe()
def normalises_one_split(view: View) -> Finding:
    """Normalisation stands in the pipeline of one split only, or the splits normalise by other figures.

    Pipelines are `Compose([...])` and lists of `dict(type="Normalize", ...)`, whose name,
    key or parameter says which split they are for. Configurations written in Python are looked at, too.
    """
    if not view.run.scripts:
        return unknown(NO_SCRIPT)
    programs = scripts(view.run)
    seen = {path for s in programs for _, path in (s.pieces or ((0, s.path),))}
    found = [f for f in map(_one_split, [*programs, *_others(view, seen)]) if f is not None]
    wrong = next((f for f in found if f.state.value == "present"), None)
    return wrong or next(iter(found), None) or unknown("the scripts show no pair of pipelines")


def _others(view: View, seen: set[str]) -> list[Script]:
    """Python files that no program imports: configurations that are executed or read."""
    found = []
    for path, text in sorted(view.run.scripts.items()):
        if path not in seen and _NORMALISES.search(text):
            try:
                found.append(Script(path, text, parsed(text)))
            except ValueError:
                continue
    return found


_NORMALISES = re.compile(r"(?i)normali[sz]e|standardi[sz]e")
_NAMES = ("normalize", "normalise", "standardize", "standardise")


def _one_split(source: Script) -> Finding | None:
    sides: dict[bool, list[tuple[ast.expr, list[str] | None]]] = {True: [], False: []}
    colours: dict[bool, list[set[str]]] = {True: [], False: []}
    for node in source.of(ast.Call, ast.List):
        steps = _steps(source, node)
        if steps is None:
            continue
        steps = [step_made(source, s) for s in steps]
        side = _side(source, node)
        side = side_served(source, node) if side is None else side
        if side is not None and isinstance(node, ast.expr):
            normal = [s for s in steps if _kind(s).lower() in _NAMES]
            sides[side].append((node, [_figures(source, s) for s in normal] or None))
            colours[side].append({unparse(s) for s in steps if _recolours(s)})
    if len(sides[True]) != 1 or not sides[False]:
        return None
    place, mine = sides[True][0]
    for other, theirs in sides[False]:
        if (mine is None) != (theirs is None):
            lacks = place if mine is None else other
            return at(source, lacks, "this pipeline does not normalise and the other one does")
        if mine and theirs and "" not in mine + theirs and mine != theirs:
            return at(
                source, other, f"held-out data are normalised by {theirs[0]}, training data by {mine[0]}"
            )
    for (other, _), held in zip(sides[False], colours[False], strict=True):
        if only := sorted(held ^ colours[True][0]):
            return at(source, other, f"`{only[0][:60]}` is done for one of the two sides alone")
    return ok(source, place, "both pipelines normalise alike") if mine else None


def _recolours(step: ast.expr) -> bool:
    """A step without chance that changes what channels mean: grey for colours, another order, negatives."""
    if _kind(step) in ("Grayscale", "Invert"):
        return True
    text = unparse(step)
    plain = _kind(step) == "Lambda" and re.search(r"(?i)rand|noise|jitter|stack|crop|aug", text) is None
    return (
        plain
        and re.search(r"\.flip\(-?[0-3]\)|::-1|\[\[2, 1, 0\]|1(?:\.0)? - |\* 255|/ 255", text) is not None
    )


def _steps(source: Script, node: ast.AST) -> list[ast.expr] | None:
    """The transforms of a pipeline: what `Compose([...])` gets, or a list of at least one configured step."""
    if isinstance(node, ast.Call) and last_name(node.func) in ("Compose", "Sequential") and node.args:
        given = node.args[0]
        return _unpacked(source, given.elts) if isinstance(given, (ast.List, ast.Tuple)) else None
    if isinstance(node, ast.List) and node.elts and all(map(_kind, node.elts)):
        typed = all(isinstance(e, ast.Dict) or last_name(getattr(e, "func", e)) == "dict" for e in node.elts)
        return node.elts if typed else None
    return None


def _unpacked(source: Script, steps: list[ast.expr]) -> list[ast.expr] | None:
    """`[*before, *after]` with the steps of lists that have names; None where one is not written out."""
    found: list[ast.expr] = []
    for step in steps:
        if isinstance(step, ast.Starred):
            lists = [g.value for g in flow(source).all_given(step.value)]
            if len(lists) != 1 or not isinstance(lists[0], (ast.List, ast.Tuple)):
                return None
            found += lists[0].elts
        else:
            found.append(step)
    return found


def _kind(step: ast.expr) -> str:
    """The name of a transform: `T.Normalize(...)`, `dict(type="Normalize")`, `{"type": "Normalize"}`."""
    if isinstance(step, ast.Call) and last_name(step.func) != "dict":
        return last_name(step.func)
    given = _arguments(step).get("type")
    return given.value if isinstance(given, ast.Constant) and isinstance(given.value, str) else ""


def _arguments(step: ast.expr) -> dict[str, ast.expr]:
    if isinstance(step, ast.Call):
        return {k.arg: k.value for k in step.keywords if k.arg}
    if isinstance(step, ast.Dict):
        return {
            k.value: v
            for k, v in zip(step.keys, step.values, strict=True)
            if isinstance(k, ast.Constant) and isinstance(k.value, str)
        }
    return {}


def _figures(source: Script, step: ast.expr) -> str:
    """Mean and deviation of a normalisation as text, names resolved; "" where they are no literals."""
    given = _arguments(step)
    if isinstance(step, ast.Call):
        for keyword in step.keywords:
            if keyword.arg is None:  # **img_norm_cfg
                made = source.assigned(unparse(keyword.value), source.tree)
                if made is None:
                    return ""
                given = given | _arguments(made)
        given = given | dict(zip(("mean", "std"), step.args, strict=False))
    values = [_literal(source, given[k]) for k in ("mean", "std") if k in given]
    return ", ".join(values) if len(values) == 2 and all(values) else ""


def _literal(source: Script, node: ast.expr) -> str:
    if isinstance(node, (ast.Name, ast.Attribute)):
        made = source.assigned(unparse(node), source.tree)
        node = made if made is not None else node
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError):
        return ""
    numbers = value if isinstance(value, (list, tuple)) else [value]
    if not all(isinstance(n, (int, float)) for n in numbers):
        return ""
    return "[" + ", ".join(f"{n:g}" for n in numbers) + "]"


def _side(source: Script, node: ast.AST) -> bool | None:
    """Which split a pipeline is for, by the nearest name around it: a target, a keyword, a key."""
    child = node
    for parent in source.above(node):
        names: list[str] = []
        if isinstance(parent, ast.Call) and (part := part_of(parent)) is not None:
            return part
        if isinstance(parent, ast.Assign):
            names = [unparse(t) for t in parent.targets]
        elif isinstance(parent, ast.keyword) and parent.arg:
            names = [parent.arg]
        elif isinstance(parent, ast.Dict):
            keys = [k for k, v in zip(parent.keys, parent.values, strict=True) if v is child]
            names = [k.value for k in keys if isinstance(k, ast.Constant) and isinstance(k.value, str)]
        elif isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef)):
            names = [parent.name]
        sides = {trains(split_of(n)) for n in names} - {None} or {side(n) for n in names} - {None}
        if sides:
            return sides.pop() if len(sides) == 1 else None
        child = parent
    return None
