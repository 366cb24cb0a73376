"""Splits in scripts whose parts overlap, and inputs that hold their own target, by slices and conditions."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse
from ...registry import Finding, View, probe, unframed
from ...scripts.syntax import Script
from ..shared.checks import at, first
from ..shared.sides import HELD_OUT, OF_TRAINING, either


@probe()
@unframed
def overlap(view: View) -> Finding:
    """Parts of the data overlap, or an input holds what is to be predicted from it."""
    return first(view, either(*_OVERLAPS), "the scripts divide no data by slices or conditions")


def parts_overlap(source: Script) -> Finding | None:
    """Training takes a whole of which the held-out part is a slice, or leaves another fold out."""
    for look in (_whole_and_slice, _whole_by_switch, _fold_left_in, _other_key):
        if (found := look(source)) is not None:
            return found
    return None


def _whole_and_slice(source: Script) -> Finding | None:
    """`return files, files[-2:]`, taken as `train, val = split(...)`; `train, val = rows, rows[n:]`."""
    for node in of(source.tree, ast.Tuple):
        if len(node.elts) != 2 or not isinstance(node.ctx, ast.Load):
            continue
        whole, part = node.elts
        if not (
            isinstance(whole, ast.Name)
            and isinstance(part, ast.Subscript)
            and isinstance(part.slice, ast.Slice)
        ):
            continue
        if unparse(part.value) != whole.id or part.slice.step is not None:
            continue
        if any(OF_TRAINING.search(a) and HELD_OUT.search(b) for a, b in _taken_as(source, node)):
            return at(source, node, "the held-out part is a slice of what training takes as a whole")
    return None


def _taken_as(source: Script, node: ast.Tuple) -> Iterator[tuple[str, str]]:
    """The two names that a pair is given: by assignment, or by those who call the function."""
    parent = source.parents.get(node)
    if isinstance(parent, ast.Assign):
        yield from _pairs(parent.targets[0])
    if isinstance(parent, ast.Return):
        for call in source.named(source.function_name(node)):
            holder = source.parents.get(call)
            if isinstance(holder, ast.Assign) and holder.value is call:
                yield from _pairs(holder.targets[0])


def _pairs(target: ast.expr) -> Iterator[tuple[str, str]]:
    if isinstance(target, (ast.Tuple, ast.List)) and len(target.elts) == 2:
        yield unparse(target.elts[0]), unparse(target.elts[1])


def _whole_by_switch(source: Script) -> Finding | None:
    """`keep = order if split == "train" else order[:n_val]`: a slice of the whole is held out."""
    for node in of(source.tree, ast.IfExp):
        asked = unparse(node.test)
        if re.search(
            r"== '?\"?train|is_train$|^train(?:ing)?$|^self\.train$|\.train$", asked.replace('"', "'")
        ):
            whole, part = node.body, node.orelse
        elif re.search(r"== '(?:val|valid|test|dev)|^not (?:self\.)?(?:is_)?train", asked):
            whole, part = node.orelse, node.body
        else:
            continue
        sliced = isinstance(part, ast.Subscript) and isinstance(part.slice, ast.Slice)
        if isinstance(whole, ast.Name) and sliced and unparse(part.value) == whole.id:  # type: ignore[attr-defined]
            if not re.search(r"(?i)debug|limit|max|aug|trans", unparse(part)):
                return at(source, node, "training takes the whole, and what is held out is a slice of it")
    return None


def _fold_left_in(source: Script) -> Finding | None:
    """Training leaves one fold out, and another one is held out as well: `!= test_fold`, then `== val_fold`.

    Where three parts are made by one key, training has to leave out both.
    """
    for function in of(source.tree, ast.FunctionDef):
        kept, left = {}, {}
        for node in of(function, ast.Assign):
            target = node.targets[0]
            if not isinstance(target, ast.Name) or not isinstance(node.value, ast.ListComp):
                continue
            tests = [t for g in node.value.generators for t in g.ifs]
            if len(tests) != 1 or not isinstance(tests[0], ast.Compare) or len(tests[0].ops) != 1:
                continue
            key = unparse(tests[0].left), unparse(node.value.generators[0].iter)
            value = unparse(tests[0].comparators[0])
            if isinstance(tests[0].ops[0], ast.Eq) and HELD_OUT.search(target.id):
                kept[key, value] = node
            elif isinstance(tests[0].ops[0], ast.NotEq) and OF_TRAINING.search(target.id):
                left[key] = (value, node)
        for (key, value), _ in kept.items():
            if key in left and left[key][0] != value:
                return at(
                    source,
                    left[key][1],
                    f"training leaves out {left[key][0]}, and {value} is held out as well",
                )
    return None


def _other_key(source: Script) -> Finding | None:
    """Held-out values of one key are looked for among those of another: the filter removes nothing.

    `held = set(rows["contract"][:n])`, `valid` is where `x["contract"] in held`, and `train` where
    `x["id"] not in held`.
    """
    inside: dict[str, tuple[str, ast.Compare]] = {}
    outside: dict[str, tuple[str, ast.Compare]] = {}
    for node in of(source.tree, ast.Compare):
        if len(node.ops) != 1 or not isinstance(node.comparators[0], (ast.Name, ast.Attribute)):
            continue
        left = node.left
        if not (isinstance(left, ast.Subscript) and isinstance(left.slice, ast.Constant)):
            continue
        where = (
            inside
            if isinstance(node.ops[0], ast.In)
            else outside
            if isinstance(node.ops[0], ast.NotIn)
            else None
        )
        if where is not None:
            where.setdefault(unparse(node.comparators[0]), (str(left.slice.value), node))
    for name, (key, node) in outside.items():
        if name in inside and inside[name][0] != key:
            return at(source, node, f"{name} holds values of {inside[name][0]!r}, and is asked for {key!r}")
    return None


# --------------------------------------------------------------------------- the target among the inputs


def target_in_history(source: Script) -> Finding | None:
    """A history that ends behind the element that is to be predicted from it: `items[:p + 1], items[p]`.

    The slice and the element stand in one tuple or call, as input and target.
    """
    for node in of(source.tree, ast.Tuple, ast.Call):
        parts = node.elts if isinstance(node, ast.Tuple) else node.args
        if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            continue
        for target in parts:
            if not isinstance(target, ast.Subscript) or isinstance(
                target.slice, (ast.Slice, ast.Tuple, ast.Constant)
            ):
                continue
            name, place = unparse(target.value), unparse(target.slice)
            for part in parts:
                if part is target:
                    continue
                for sub in of(part, ast.Subscript):
                    if (
                        unparse(sub.value) == name
                        and isinstance(sub.slice, ast.Slice)
                        and sub.slice.upper is not None
                    ):
                        if unparse(sub.slice.upper) in (f"{place} + 1", f"1 + {place}"):
                            return at(
                                source, node, f"the history runs up to {name}[{place}], which is the target"
                            )
    return None


def nothing_shifted(source: Script) -> Finding | None:
    """Input and target of a model that predicts the next element are the same expression: nothing is shifted.

    `x, y = ids[:-1], ids[:-1]`.
    """
    for node in of(source.tree, ast.Assign):
        target, value = node.targets[0], node.value
        if not (isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(value.elts) == 2):
            continue
        one, two = value.elts
        sliced = any(isinstance(s.slice, ast.Slice) for s in of(one, ast.Subscript))
        if sliced and unparse(one) == unparse(two) and re.search(r"-1|\+ ?1", unparse(one)):
            names = [unparse(t) for t in target.elts]
            if re.fullmatch(r"(?i)(?:x\w*|inp\w*|src|ids|tokens)", names[0]) and not names[1].startswith("_"):
                return at(source, node, "input and target are the same: the target is not shifted")
    return None


def future_not_hidden(source: Script) -> Finding | None:
    """A mask that is called causal, or decides what may be attended to, keeps the upper triangle.

    `torch.triu(torch.ones(n, n))` without `diagonal=1` as what may be seen, by `&` with another mask.
    """
    for call in source.named("triu"):
        if len(call.args) != 1 or call.keywords:
            continue
        statement = source.statement(call)
        names = [unparse(t) for t in statement.targets] if isinstance(statement, ast.Assign) else []
        function = source.function_around(call)
        if not function or not any(re.search(r"(?i)causal|allowed|visible|keep", n) for n in names):
            continue
        joined = any(
            isinstance(n.op, ast.BitAnd) and names[0] in {unparse(n.left), unparse(n.right)}
            for n in of(function, ast.BinOp)
        )
        turned = re.search(
            rf"~{re.escape(names[0])}\b|{re.escape(names[0])} == 0|logical_not\({names[0]}", unparse(function)
        )
        if joined and not turned:
            return at(source, call, "what may be seen is the upper triangle: each position sees what follows")
    return None


_OVERLAPS = (parts_overlap, target_in_history, nothing_shifted, future_not_hidden)
