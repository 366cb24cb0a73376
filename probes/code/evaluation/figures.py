"""Figures of an evaluation in scripts that cannot say what they are named for: emptied, signed, of one."""

from __future__ import annotations

import ast
import re

from ...readers._tree import names_in, of, unparse
from ...readers.script import argument, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..loss.output_kind import width
from ..shared.checks import at
from ..tensorflow.keras import compiled

_AREAS = ("roc_auc_score", "average_precision_score")
_SIZES = re.compile(r"(?i)(?:^|_)(?:mae|mse|rmse|mape|abs|abs_?err\w*|mean_abs\w*)(?:_|$)")
_UNSIGNED = re.compile(r"abs|\*\* ?2|pow\(|square|norm\(|sqrt")


def area_of_decisions(source: Script) -> Finding | None:
    """`roc_auc_score(y, scores > 0.5)`: an area under a curve of a single point."""
    for call in source.named(*_AREAS):
        scores = argument(call, "y_score", position=1)
        if scores is not None and (_is_decision(scores) or _named_decision(source, scores)):
            return at(source, scores, "the area is taken of decisions: there is one threshold alone")
    return None


def _named_decision(source: Script, scores: ast.expr) -> bool:
    """`hat[:, seen]` of `hat = (p >= 0.5).astype(int)`."""
    name = scores.value if isinstance(scores, ast.Subscript) else scores
    made = flow(source).all_given(name) if isinstance(name, ast.Name) else []
    return len(made) == 1 and not made[0].places and _is_decision(made[0].value)


def _is_decision(node: ast.expr) -> bool:
    """`p > 0.5`, `(p > 0.5).astype(int)`, `p.round()`, `np.round(p)`, `np.eye(3)[p.argmax(1)]`."""
    if isinstance(node, ast.Subscript) and "eye(" in unparse(node.value):
        node = node.slice
        return isinstance(node, ast.Call) and last_name(node.func) == "argmax"
    for _ in range(3):
        if isinstance(node, ast.Compare):
            return len(node.ops) == 1 and isinstance(node.ops[0], (ast.Gt, ast.GtE, ast.Lt, ast.LtE))
        if not isinstance(node, ast.Call):
            return False
        name = last_name(node.func)
        if name in ("round", "rint") and len(node.args) + len(node.keywords) <= 1:
            return not any(k.arg in ("decimals", "ndigits") for k in node.keywords) and not (
                node.args and isinstance(node.args[0], ast.Constant)
            )
        if name in ("astype", "int", "float", "ravel", "flatten", "squeeze") and isinstance(
            node.func, ast.Attribute
        ):
            node = node.func.value
        else:
            return False
    return False


def largest_of_one(source: Script) -> Finding | None:
    """`np.argmax(model.predict(x), axis=1)` of a model with one output: the answer is always 0."""
    ends = [one.layer for one in compiled(source) if last_name(one.call.func) == "compile"]
    if not ends or any(e is None or last_name(e.func) != "Dense" or width(source, e) != 1 for e in ends):
        return None
    for call in source.named("argmax"):
        given = argument(call, position=0)
        axis = argument(call, "axis", position=1)
        if given is None or axis is None or unparse(axis) not in ("1", "-1"):
            continue
        values = [given, *flow(source).values(given, 2)]
        if any(isinstance(v, ast.Call) and last_name(v.func) == "predict" for v in values):
            return at(source, call, "the model has one output: the largest is always the first")
    return None


def size_with_sign(source: Script) -> Finding | None:
    """`mae.update_state(target - prediction)`: errors of both signs cancel out."""
    if not {"keras", "tensorflow"} & set(source.frameworks):
        return None
    for call in source.named("update_state", "update"):
        name = source.owner(call).split(".")[-1]
        if not _SIZES.search(name) or len(call.args) != 1:
            continue
        given = call.args[0]
        while isinstance(given, ast.BinOp) and isinstance(given.op, (ast.Mult, ast.Div)):
            given = given.left
        if isinstance(given, ast.BinOp) and isinstance(given.op, ast.Sub):
            if not _UNSIGNED.search(unparse(call.args[0])):
                return at(source, call, f"errors of both signs cancel out in what is named {name}")
    return None


def emptied_with_each_batch(source: Script) -> Finding | None:
    """`loss.reset_state()` beside `loss.update_state(...)` in the loop over batches, read behind the loop."""
    for reset in source.named("reset_state", "reset_states"):
        name = source.owner(reset)
        loops = source.loops_around(reset)
        inner = loops[-1] if loops else None
        inner = min(loops, key=lambda x: (x.end_lineno or 0) - x.lineno) if loops else inner
        if not isinstance(inner, ast.For) or name == unparse(inner.target):
            continue
        if any(isinstance(p, ast.If) and p.lineno > inner.lineno for p in source.above(reset)):
            continue
        fed = [c for c in of(inner, ast.Call) if unparse(c.func) in (f"{name}.update_state", name)]
        fed = fed or _fed_by_helpers(source, name, inner)
        deeper = [x for x in of(inner, ast.For) if x is not inner]
        if not fed or any(c in of(d, ast.Call) for d in deeper for c in fed):
            continue
        read = [c for c in source.named("result") if source.owner(c) == name]
        here = source.function_around(inner)
        behind = [
            c
            for c in read
            if c.lineno > (inner.end_lineno or inner.lineno) and source.function_around(c) is here
        ]
        if behind and len(behind) == len(read):
            return at(source, reset, f"`{name}` is emptied with each batch, and read behind the loop")
    return None


def _fed_by_helpers(source: Script, name: str, loop: ast.For) -> list[ast.Call]:
    """Calls in a loop over batches of functions of the program, where one of those updates the metric."""
    if not name.isidentifier():
        return []
    around = source.function_around(loop)
    homes = {
        f.name
        for c in source.named("update_state")
        if source.owner(c) == name and (f := source.function_around(c)) is not None and f is not around
    }
    if not homes:
        return []
    # a step may be handed to a strategy: `strategy.run(replica_step, args=batch)`
    homes |= {
        f.name for f in source.of(ast.FunctionDef) if any(h in names_in(f) for h in homes) and f is not around
    }
    return [c for c in of(loop, ast.Call) if last_name(c.func) in homes]
