"""Figures of scripts that are not what their names say: ranks, pictures, the wrong truth."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse
from ...readers.script import argument, keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.learning import takes_gradients
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.nodes import whole_number
from ..shared.sides import literal, words

_LOGS = ("log2", "log")
_RANGES = ("arange",)
_CUT = re.compile(r"(?i)^(?:\w+\.)?(?:top_?)?k$|^(?:\w+\.)?top_?[kn]$")


def first_place_by_nought(source: Script) -> Finding | None:
    """`hits / np.log2(np.arange(1, k + 1))`: the first place is divided by the logarithm of one."""
    for node in source.of(ast.BinOp):
        if not isinstance(node.op, ast.Div) or not isinstance(node.right, ast.Call):
            continue
        inner = argument(node.right, position=0)
        if last_name(node.right.func) not in _LOGS or not isinstance(inner, ast.Call):
            continue
        if last_name(inner.func) not in _RANGES or not inner.args:
            continue
        start = whole_number(inner.args[0]) if len(inner.args) > 1 else 0
        if start is not None and start <= 1:
            return at(source, node, "the first place is divided by the logarithm of one, which is nought")
    return None


def recall_by_cut(source: Script) -> Finding | None:
    """`recall.append(hits.sum() / k)`: a share of what was shown, which is the precision."""
    for node in source.of(ast.BinOp):
        if not isinstance(node.op, ast.Div) or not _CUT.match(unparse(node.right)):
            continue
        if not any(last_name(c.func) in ("sum", "len", "count") for c in of(node.left, ast.Call)):
            continue
        kept = set(_kept_as(source, node))
        function = source.function_around(node)
        about = set(words(function.name)) if function is not None else set()
        if kept & {"recall", "recalls"} or (kept & {"rec", "recs"} and about & {"recall", "ndcg", "rank"}):
            return at(source, node, "a share of the places that are shown is the precision, not the recall")
    return None


def _kept_as(source: Script, node: ast.expr) -> Iterator[str]:
    """The words of what a value is put into."""
    statement = source.statement(node)
    if isinstance(statement, (ast.Assign, ast.AugAssign)):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        if statement.value is node or node in of(statement.value, ast.BinOp):
            yield from (w for t in targets for w in words(unparse(t)))
    for parent in source.above(node):
        if isinstance(parent, ast.Call) and last_name(parent.func) == "append":
            yield from words(unparse(parent.func))


_OF_PICTURES = ("StructuralSimilarityIndexMeasure", "PeakSignalNoiseRatio", "SSIM", "PSNR", "psnr", "ssim")


def range_of_another(source: Script) -> Finding | None:
    """`SSIM(data_range=1.0)` beside `PSNR(data_range=2.0)`: both are asked of the same pictures."""
    told: dict[object, ast.Call] = {}
    for call in source.calls:
        name = last_name(call.func)
        given = keyword(call, "data_range") or keyword(call, "max_val")
        if given is not None and (name in _OF_PICTURES or "similarity" in name or "signal_noise" in name):
            value = literal(source, given)
            if isinstance(value, (int, float)):
                told.setdefault(float(value), call)
    if len(told) != 2 or not _shown_from_both_sides(source) or set(told) != {1.0, 2.0}:
        return None
    return at(source, told[1.0], "pictures run from -1 to 1 here, a range of two as it is told elsewhere")


def _shown_from_both_sides(source: Script) -> bool:
    """Pictures are brought to -1 to 1, and nothing brings them back."""
    centred = re.search(r"\[?\(?0?\.5\b[^\n]{0,20}0?\.5\b|127\.5", source.code) is not None
    return centred and re.search(r"(?i)denorm|unnorm|\+ 1\)? ?/ ?2|\* 0\.5 \+ 0\.5", source.code) is None


def scored_against_inputs(source: Script) -> Finding | None:
    """`ssim(made, given)` beside `psnr(made, truth)`, where `made = net(given)`: the inputs are no truth."""
    for function in source.of(ast.FunctionDef):
        if takes_gradients(source, function) or "train" in words(function.name):
            continue
        calls = [c for c in of(function, ast.Call) if len(c.args) == 2 and _are_names(c.args)]
        calls = [c for c in calls if not any(isinstance(p, (ast.If, ast.IfExp)) for p in source.above(c))]
        for call in calls:
            made, given = map(unparse, call.args)
            answer = flow(source).given(call.args[0])
            asked = answer.value if answer is not None and not answer.places else None
            others = {unparse(c.args[1]) for c in calls if unparse(c.args[0]) == made} - {given}
            if not isinstance(asked, ast.Call) or not others or _OF_INPUTS.search(unparse(call.func)):
                continue
            if made == given or source.function_around(asked) is not function:
                continue
            inputs = [unparse(a) for a in asked.args]
            if inputs == [given] and all(len(c.args) == 2 for c in calls):
                return at(source, call, f"`{made}` is an answer to `{given}`, and is held against it here")
    return None


_OF_INPUTS = re.compile(r"(?i)content|cycl|consist|input|change|ident|recon|delta|diff")


def _are_names(given: list[ast.expr]) -> bool:
    return all(isinstance(a, ast.Name) for a in given)
