"""MindSpore's pipelines: random steps that held-out data go through, by `map` of mindspore.dataset."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import names_bound, names_in, of, unparse
from ...readers.script import argument, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ..shared.checks import at, ok
from ..shared.sides import side

_RANDOM = re.compile(
    r"^(?:Random(?:Adjust\w+|Affine|AutoContrast|Color\w*|Crop\w*|Equalize|Erasing|HorizontalFlip\w*|Invert"
    r"|Lighting|Perspective|Posterize|Resize\w*|Rotation|Sharpness|Solarize|VerticalFlip\w*)"
    r"|RandAugment|AutoAugment|TrivialAugmentWide|CutOut)$"
)
_FLAG = re.compile(r"(?i)^(?:is_?|do_?|for_?)?(?:train(?:ing)?|augment)$")
_VERSIONS = re.compile(r"(?i)simclr|contrast|byol|moco|views|\btta\b|test_?time|self_?superv")


def random_for_held_out(source: Script) -> Finding | None:
    """`val = val.map(train_steps)`, or a step of a pipeline for both sides that stands under no condition.

    Left aside: programs that score several versions of a sample on purpose.
    """
    if "mindspore" not in source.frameworks or source.loose or _VERSIONS.search(source.code):
        return None
    seen = None
    for call in source.named("map"):
        steps = argument(call, "operations", position=0)
        if steps is None or not isinstance(call.func, ast.Attribute):
            continue
        drawn = list(_drawn(source, steps))
        seen = seen or (call if drawn else None)
        told = [unparse(t) for s in [source.statement(call)] if isinstance(s, ast.Assign) for t in s.targets]
        if drawn and any(side(t.split(".")[-1]) is False for t in told) and not _if_training(source, call):
            return at(source, call, "held-out samples are changed at random, as only training samples should")
    for function in source.of(ast.FunctionDef):
        flag = next((a.arg for a in function.args.args if _FLAG.match(a.arg)), None)
        if flag is None or not _for_both(source, function, flag) or not _asks(function, flag):
            continue
        for call in _on_held_out_side(function, flag):
            return at(
                source, call, f"this is done where `{flag}` is False: held-out samples are changed at random"
            )
        for call in _always(source, function, flag):
            return at(
                source, call, f"this is done whatever `{flag}` says: held-out samples are changed at random"
            )
    return ok(source, seen, "held-out samples are not changed at random") if seen is not None else None


def _drawn(source: Script, steps: ast.expr) -> Iterator[ast.Call]:
    """The random steps that an expression of steps stands for, names followed; of one way only."""
    ends = flow(source).values(steps, 4)
    if len(ends) == 1 and not of(ends[0], ast.IfExp):
        yield from (c for c in of(ends[0], ast.Call) if _RANDOM.match(last_name(c.func)))


def _if_training(source: Script, node: ast.AST) -> bool:
    return any(
        isinstance(p, (ast.If, ast.IfExp)) and re.search(r"(?i)train|aug", unparse(p.test))
        for p in source.above(node)
    )


def _for_both(source: Script, function: ast.FunctionDef, flag: str) -> bool:
    """Calls ask for training and for held-out data, by True and False."""
    names = [a.arg for a in function.args.args]
    told = set()
    for call in flow(source).calls_of(function):
        place = names.index(flag)
        value = argument(call, flag, position=place)
        if isinstance(value, ast.Constant):
            told.add(value.value)
        elif value is None and place >= len(names) - len(function.args.defaults):
            default = function.args.defaults[place - len(names)]
            told.add(default.value if isinstance(default, ast.Constant) else None)
    return {True, False} <= told


def _asks(function: Function, flag: str) -> bool:
    """The flag chooses steps: a condition on it stands around steps of a pipeline."""
    return any(flag in names_in(n.test) for n in of(function, ast.If, ast.IfExp))


def _on_held_out_side(function: ast.FunctionDef, flag: str) -> Iterator[ast.Call]:
    """Random steps in the `else` of `if training:`, or under `if not training:`."""
    for node in of(function, ast.If):
        test, side_ = node.test, node.orelse
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test, side_ = test.operand, node.body
        if isinstance(test, ast.Name) and test.id == flag and flag not in _given(function):
            yield from (c for s in side_ for c in of(s, ast.Call) if _RANDOM.match(last_name(c.func)))


def _given(function: ast.FunctionDef) -> set[str]:
    """Names that the function gives a value itself."""
    return names_bound(function)


def _always(source: Script, function: ast.FunctionDef, flag: str) -> Iterator[ast.Call]:
    """Random steps under no condition, in a list of steps or in `map`, which the function gives back."""
    for call in of(function, ast.Call):
        if not _RANDOM.match(last_name(call.func)):
            continue
        above = [p for p in source.above(call) if p is not function]
        inside = above[: above.index(function)] if function in above else above
        if any(
            isinstance(p, (ast.If, ast.IfExp, ast.FunctionDef, ast.Lambda, ast.While, ast.Try))
            for p in inside
        ):
            continue
        statement = source.statement(call)
        if isinstance(statement, ast.AugAssign) or (
            isinstance(statement, ast.Expr) and re.search(r"\.(?:append|extend|insert)\(", unparse(statement))
        ):
            target = unparse(statement.target) if isinstance(statement, ast.AugAssign) else ""
            target = target or unparse(statement).split(".")[0]
        elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = unparse(statement.targets[0])
            if last_name(call.func) and any(last_name(c.func) == "map" for c in of(statement, ast.Call)):
                yield call  # in the map itself
                continue
        else:
            continue
        if _mapped_always(source, function, target, flag, call.lineno):
            yield call


def _mapped_always(source: Script, function: ast.FunctionDef, name: str, flag: str, line: int) -> bool:
    """A list of steps goes into `map` under no condition, alone."""
    for call in of(function, ast.Call):
        if last_name(call.func) != "map":
            continue
        steps = argument(call, "operations", position=0)
        if steps is None or unparse(steps) != name:
            continue
        inner = [p for p in source.above(call) if isinstance(p, (ast.If, ast.IfExp))]
        if not any(function in source.above(p) for p in inner):
            return not _given_anew(function, name, flag, line)
    return False


def _given_anew(function: ast.FunctionDef, name: str, flag: str, line: int) -> bool:
    """Below, a condition on the flag gives the list other steps altogether."""
    return any(
        unparse(t) == name and n.lineno > line
        for test in of(function, ast.If)
        if flag in names_in(test.test)
        for n in of(test, ast.Assign)
        for t in n.targets
    )
