"""Targets of every position in scripts, laid flat for a loss of classes, in rows that were padded by hand."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from ...readers._tree import of, unparse
from ...readers.script import argument, last_name
from ...registry import Finding
from ...scripts.flow import flow, losses
from ...scripts.syntax import Script
from ..shared.checks import at, ok
from ..shared.sides import literal
from .marks import USUAL, ignored_labels, is_label, padded_labels, written_over

_FLAT = ("reshape", "view", "flatten", "ravel")
# what weighs, picks or replaces single places, wherever it stands
_BY_HAND = re.compile(
    r"reduction=|reduce=|weight=|masked_select|masked_fill_?\(\w*(?:lab|tgt|targ)|loss_mask"
)
_MODELS = re.compile(r"^AutoModelFor(?:CausalLM|Seq2SeqLM|TokenClassification|MaskedLM|Vision2Seq)$")


def filled_by_hand(source: Script) -> Iterator[tuple[ast.BinOp, ast.expr]]:
    """`row + [PAD] * (longest - len(row))`: the sum, and what fills the row up."""
    for node in source.of(ast.BinOp):
        if not isinstance(node.op, ast.Add) or not isinstance(node.right, ast.BinOp):
            continue
        fill = node.right
        if not isinstance(fill.op, ast.Mult):
            continue
        for row, times in ((fill.left, fill.right), (fill.right, fill.left)):
            missing = (
                isinstance(times, ast.BinOp) and isinstance(times.op, ast.Sub) and "len(" in unparse(times)
            )
            if missing and isinstance(row, ast.List) and len(row.elts) == 1:
                yield node, row.elts[0]


def fills_of_targets(source: Script) -> dict[int, ast.AST]:
    """The numbers that rows of targets are filled up with by hand; none where one is not known.

    Rows are those of targets where they are named so, or where the function that fills them up is called
    for several kinds of rows.
    """
    found: dict[int, ast.AST] = {}
    for node, value in filled_by_hand(source):
        number = literal(source, value)
        if type(number) is not int:
            return {}
        function = source.function_around(node)
        calls = flow(source).calls_of(function) if isinstance(function, ast.FunctionDef) else []
        kinds = {unparse(c.args[0]) for c in calls if c.args}
        statement = source.statement(node)
        named = isinstance(statement, ast.Assign) and any(is_label(unparse(t)) for t in statement.targets)
        if (len(kinds) > 1 and _in_one_place(source, calls)) or named or is_label(unparse(node.left)):
            found[number] = node
    return found


def _in_one_place(source: Script, calls: Sequence[ast.Call]) -> bool:
    """Two of the calls stand in one statement or next to one another: inputs and targets of a sample."""
    blocks = [source.function_around(c) for c in calls]
    return len(set(map(id, blocks))) < len(blocks)


def padding_of_positions(source: Script) -> Finding | None:
    """Every position of rows that were filled up is a target, and the loss leaves out another one or none."""
    ignored = ignored_labels(source)
    if ignored is None or source.loose:
        return None
    fills = fills_of_targets(source) or _padded_by_library(source)
    if not fills or any(n < 0 for n in fills) or _BY_HAND.search(source.code) or _marked(source):
        return None
    for call, kind in losses(source):
        if kind not in ("crossentropyloss", "cross_entropy", "nll_loss", "nllloss") or not _positions(call):
            continue
        names = {n.id for a in call.args[:2] for n in of(a, ast.Name)}
        if _picked(source, call, names):
            return None
        wrong = [n for n in fills if n not in ignored]
        if not wrong:
            return ok(source, call, "what rows are filled up with is left out of the loss")
        told = f"leaves out {', '.join(map(str, sorted(ignored)))}" if ignored else "leaves out nothing"
        return at(source, fills[wrong[0]], f"rows are filled up with {wrong[0]}, and the loss {told}")
    return None


def _padded_by_library(source: Script) -> dict[int, ast.AST]:
    """`trg = pad_sequence(rows, padding_value=PAD)`: what labels are filled up with."""
    found: dict[int, ast.AST] = {}
    for call, value in padded_labels(source):
        number = 0 if value is None else literal(source, value)
        if last_name(call.func) == "pad_sequence":
            if type(number) is not int or written_over(source, call, {USUAL}):
                return {}
            found[number] = call
    return found


def _marked(source: Script) -> bool:
    """-100 stands anywhere but as what a loss or a metric leaves out."""
    named: set[str] = set()
    places: list[ast.expr] = []
    for node in source.of(ast.UnaryOp):
        if unparse(node) != "-100":
            continue
        parent = source.parents.get(node)
        if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Name):
            named.add(parent.targets[0].id)
        else:
            places.append(node)
    places += [n for n in source.of(ast.Name) if n.id in named and isinstance(n.ctx, ast.Load)]
    parents = [source.parents.get(p) for p in places]
    return any(
        not (isinstance(p, ast.keyword) and p.arg == "ignore_index") and not isinstance(p, ast.Compare)
        for p in parents
    )


def _positions(call: ast.Call) -> bool:
    """`loss(logits.reshape(-1, V), target.reshape(-1))`, `loss(logits.transpose(1, 2), target)`."""
    if len(call.args) < 2:
        return False
    first, second = call.args[:2]
    if _method(second) in _FLAT:
        return _method(first) in _FLAT
    return _method(first) in ("transpose", "permute", "swapaxes") and isinstance(
        second, (ast.Name, ast.Subscript)
    )


def _method(node: ast.expr) -> str:
    return node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""


def _picked(source: Script, call: ast.Call, names: set[str]) -> bool:
    """Some of their places are chosen or written over: `out[keep]`, `tgt[tgt == 0] = 9`."""
    mine = (source.function_around(call), source.loops_around(call)[:1])
    for node in source.of(ast.Subscript):
        if (source.function_around(node), source.loops_around(node)[:1]) != mine:
            continue
        if not isinstance(node.value, ast.Name) or node.value.id not in names:
            continue
        inner = [node.slice, *flow(source).values(node.slice, 2)]
        if isinstance(node.ctx, ast.Store) or any(of(i, ast.Compare) for i in inner):
            return True
    return False


def zeros_for_labels(source: Script) -> Finding | None:
    """`pad_sequence(labels)` pads with zeros, and a model of transformers leaves out -100 alone."""
    if (
        not any(
            _MODELS.match(last_name(c.func.value))
            for c in source.named("from_pretrained")
            if isinstance(c.func, ast.Attribute)
        )
        or source.loose
        or re.search(r"ignore_index|reduction=", source.code)
    ):
        return None
    for call in source.named("pad_sequence"):
        statement = source.statement(call)
        if (
            not call.args
            or not isinstance(statement, ast.Assign)
            or source.parents.get(call) is not statement
        ):
            continue
        target = unparse(statement.targets[0])
        value = argument(call, "padding_value", position=2)
        number = 0 if value is None else literal(source, value)
        if not re.fullmatch(r"(?:\w+_)?(?:labels?|targets?)(?:_\w+)?", target) or type(number) is not int:
            continue
        if number == USUAL:
            return ok(source, call, "what labels are padded with is left out of the loss")
        scope = source.function_around(call) or source.tree
        over = any(
            last_name(c.func) in ("masked_fill", "masked_fill_", "where") and target in unparse(c)
            for c in of(scope, ast.Call)
        ) or any(
            isinstance(s.ctx, ast.Store) and unparse(s.value) == target for s in of(scope, ast.Subscript)
        )
        if number >= 0 and not over:
            return at(
                source, call, f"labels are padded with {number}, and the model's loss leaves out -100 alone"
            )
    return None
