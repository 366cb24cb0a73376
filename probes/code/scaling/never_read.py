"""Figures and scalers that scripts work out of their data and that nothing reads."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import names_in, of, unparse
from ...readers.script import argument, last_name, receiver
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.rows import rows_of

_SCALERS = re.compile(r"(?:Scaler|Normalizer|Transformer|Imputer|Normalization)$")
_SPREADS = ("std", "nanstd")
_CENTRE = re.compile(r"(?i)^(?:\w+_)?(?:mean|mu|centre|center)$")
_SPREAD = re.compile(r"(?i)^(?:\w+_)?(?:std|stdev|sd|sigma|dev|deviation|spread)$")
_OF_OTHERS = re.compile(
    r"(?i)loss|acc|score|pred|err|reward|time|grad|weight|run|metric|fold|result|target|label|resid|lat|"
    r"bench"
)
_SCALE = re.compile(r"(?i)^(?:scale|rescale|normali[sz]e|standardi[sz]e)(?:_fn|_func|r)?$")


def figures_never_read(source: Script) -> Finding | None:
    """`s = x[:n].std(0)`, `scaler = StandardScaler().fit(x)` that no line reads."""
    if source.loose:
        return None
    scales = _divides_by_a_spread(source)
    for node in _made_alone(source):
        return at(source, node, "this scaler is made, and nothing is put through it")
    for node in source.of(ast.Assign):
        target = node.targets[0]
        if len(node.targets) != 1 or not isinstance(target, ast.Name) or _OF_OTHERS.search(unparse(node)):
            continue
        fitted = _fitted(node.value)
        spread = not scales and (_is_spread(source, node.value) or _pair(source, node, target.id))
        if not (fitted or spread) or _read(source, node, target.id):
            continue
        if fitted and _put_through_another(source, node.value):
            continue  # what is wrong is that each part has a scaler of its own
        if fitted:
            return at(source, node, "this scaler is fitted, and nothing is put through it")
        return at(source, node, "the deviation of the inputs is worked out, and nothing is divided by it")
    return _scale_not_asked(source)


def _put_through_another(source: Script, value: ast.expr) -> bool:
    """A scaler of the same kind is fitted and applied in one call elsewhere."""
    kinds = {last_name(c.func) for c in of(value, ast.Call)} & set(_OF_COLUMNS)
    return any(
        kinds & {last_name(c.func) for c in of(call.func, ast.Call)} for call in source.named("fit_transform")
    )


def _made_alone(source: Script) -> Iterator[ast.Assign]:
    """`scaler = StandardScaler()`, the only one there is, under a name that no line reads."""
    made = [c for c in source.named(*_OF_COLUMNS) if last_name(c.func) not in source.classes]
    node = source.parents.get(made[0]) if len(made) == 1 else None
    if not isinstance(node, ast.Assign) or len(node.targets) != 1 or _divided_by_hand(source):
        return
    target = node.targets[0]
    if isinstance(target, ast.Name) and not _OF_TARGET.search(target.id):
        if not _read(source, node, target.id):
            yield node


_OF_COLUMNS = ("StandardScaler", "MinMaxScaler", "RobustScaler", "MaxAbsScaler", "QuantileTransformer")
_OF_TARGET = re.compile(r"(?i)(?:^|_)(?:y|target|label)s?(?:_|$)")


def _divides_by_a_spread(source: Script) -> bool:
    """Something is divided by a deviation, or goes through a layer or a scaler that does it."""
    others = source.named("Normalize", "Normalization", "fit_transform", "transform", "normalize")
    return bool(others) or _divided_by_hand(source)


def _divided_by_hand(source: Script) -> bool:
    """Something is divided by a deviation."""
    for node in source.of(ast.BinOp, ast.AugAssign):
        if isinstance(node.op, ast.Div):
            by = node.right if isinstance(node, ast.BinOp) else node.value
            told = [last_name(n) for n in of(by, ast.Name, ast.Attribute)]
            if any(t in _SPREADS or _SPREAD.search(t) for t in told):
                return True
    return False


def _read(source: Script, node: ast.Assign, name: str) -> bool:
    scope = source.function_around(node)
    inside = of(scope, ast.Name) if scope is not None else source.of(ast.Name)
    told = any(isinstance(m, ast.Constant) for m in source.mentions.get(name, ()))
    imported = scope is None and name in source.mentions
    return told or imported or any(n.id == name and isinstance(n.ctx, ast.Load) for n in inside)


def _fitted(value: ast.expr) -> bool:
    """`StandardScaler().fit(x)`, whose outcome is kept under a name alone."""
    if (
        not isinstance(value, ast.Call)
        or last_name(value.func) != "fit"
        or not isinstance(value.func, ast.Attribute)
    ):
        return False
    made = value.func.value
    return isinstance(made, ast.Call) and _SCALERS.search(last_name(made.func)) is not None


def _is_spread(source: Script, value: ast.expr) -> bool:
    """The deviation of rows of a table: `np.nanstd(x[:n], axis=0) + eps`."""
    if isinstance(value, ast.BinOp) and isinstance(value.right, ast.Constant):
        value = value.left
    if not isinstance(value, ast.Call) or last_name(value.func) not in _SPREADS:
        return False
    owner = receiver(value)
    library = isinstance(owner, ast.Name) and owner.id in ("np", "torch", "numpy")
    about = argument(value, position=0) if library else owner
    return about is not None and rows_of(source).rows(about) is not None


def _pair(source: Script, node: ast.Assign, name: str) -> bool:
    """`mean = ...` and `dev = ...` beside each other in one block, and neither is read."""
    if not _SPREAD.search(name) or isinstance(node.value, ast.Constant):
        return False
    parent = source.parents.get(node)
    body = getattr(parent, "body", [])
    if node not in body or not body.index(node):
        return False
    before = body[body.index(node) - 1]
    if not isinstance(before, ast.Assign) or not isinstance(before.targets[0], ast.Name):
        return False
    centre = before.targets[0].id
    used = [n for n in of(node.value, ast.Name) if n.id == centre]
    reads = [n for n in source.of(ast.Name) if n.id == centre and isinstance(n.ctx, ast.Load)]
    same = _CENTRE.search(centre) is not None and len(reads) == len(used)
    return same and not isinstance(before.value, ast.Constant)


def _scale_not_asked(source: Script) -> Finding | None:
    """A function that scales is handed over as `scale`, and the function that gets it never calls it."""
    for function in source.of(ast.FunctionDef):
        for place, given in enumerate(function.args.args):
            if not _SCALE.match(given.arg) or given.arg in names_in(function):
                continue
            calls = [c for c in flow(source).calls_of(function) if len(c.args) > place]
            handed = [c.args[place] for c in calls]
            own = [
                h
                for h in handed
                if isinstance(h, ast.Name) and h.id in flow(source).functions and _divides(source, h.id)
            ]
            if handed and len(own) == len(handed) and source.class_around(function) is None:
                return at(source, function, f"`{given.arg}` is handed over and never applied")
    return None


def _divides(source: Script, name: str) -> bool:
    return any(isinstance(n.op, ast.Div) for f in flow(source).functions[name] for n in of(f, ast.BinOp))
