"""Training and held-out data of one script whose way from the source to the model differs in one step."""

from __future__ import annotations

import ast
import re

from ...readers._secrets import redact
from ...readers._tree import unparse
from ...readers.script import keyword, last_name
from ...registry import Finding, present
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ...side_chains.apart import OTHER_DATA, Apart
from ...side_chains.checks import differences
from ...side_chains.steps import batches_apart
from ..samples.batch_apart import moved_together
from ..shared.roles import base, is_table_of_words, targets
from .rows_flowed import inputs_in_use
from .simulated import samples_apart

# targets that are scaled for training alone are right where predictions are scaled back
_BACK = re.compile(
    r"inverse_transform|expm1|\bexp\(|(?i:denorm|unnorm|unscale|descale|to_original|restore_(?!best|checkpoint)|\binverse)"
    r"|\* ?\(?(?:self\.|\w+\.)?\w*(?:std|scale|sigma|spread)\w*"
)


def inputs_apart(source: Script) -> Finding | None:
    """Inputs (or targets that are figures) go through a step on one side only, or through another one."""
    batch = batches_apart(source)
    in_use = tuple(one for one in inputs_in_use(source) if not one.label)
    for one in (*differences(source), *((batch,) if batch is not None else ()), *in_use):
        if one.kind == OTHER_DATA or _where_drawn(source, one):
            continue
        if one.kind == "numbering" or _of_classes(source, one):
            continue
        if one.kind == "statistics" and (_of_each_batch(source, one) or _of_spread(source, one)):
            continue
        if one.train is not None and moved_together(source, one.train):
            continue
        if not (_scaled_back(source, one) or _of_sizes(one)):
            return _finding(source, one)
    return None


def _where_drawn(source: Script, one: Apart) -> bool:
    """The samples are made up there, otherwise for each side: that is no processing."""
    makers = {d.maker for d in samples_apart(source)}
    nodes = [n for n in (one.train, one.held) if n is not None]
    return bool(makers) and all(source.function_around(n) in makers for n in nodes)


def _of_each_batch(source: Script, one: Apart) -> bool:
    """The figures are those of one batch, which the function that puts samples together scales by them."""
    joins = {
        function
        for call in source.calls
        if (given := keyword(call, "collate_fn")) is not None
        for function in flow(source).functions.get(last_name(given), ())
    }
    return one.held is not None and source.function_around(one.held) in joins


_SQUARED = re.compile(r"\*\* ?2|\bpow\(|\bsquare\(")


def _of_spread(source: Script, one: Apart) -> bool:
    """`((y - y.mean()) ** 2).sum()`: the spread that R2 is told against, which scales nothing."""
    for node in (n for n in (one.held, one.train) if n is not None):
        for parent in source.above(node):
            if isinstance(parent, ast.stmt):
                break
            if isinstance(parent, ast.Call) and last_name(parent.func) in ("sum", "mean"):
                if _SQUARED.search(unparse(parent)):
                    return True
    return False


def _of_sizes(one: Apart) -> bool:
    """`self.dev_slice = int(len(self.df) * share)`: how many rows a side has is not done to them."""
    return any(
        isinstance(side, ast.Call) and last_name(side.func) == "len"
        for node in (one.train, one.held)
        if isinstance(node, ast.BinOp)
        for side in (node.left, node.right)
    )


def labels_apart(source: Script) -> Finding | None:
    """Class numbers are shifted or looked up on one side only."""
    for one in differences(source):
        if one.kind != "numbering" and _of_classes(source, one):
            return _finding(source, one)
    return None


def numbered_apart(source: Script, labels: bool) -> Finding | None:
    """Classes (`labels`), or words and categories, are numbered by a table of their own on either side."""
    for one in differences(source):
        classes = (one.label or _of_column(source, one)) and not _of_words(source, one)
        if one.kind == "numbering" and classes == labels and _looks_up(source, one):
            return None if labels and _told_apart_alone(source) else _finding(source, one)
    return None


_CLASS_LOSS = re.compile(r"(?i)cross_?entropy|nll|bce|withlogits|hinge|arcface|cosface|proxy|center")


def _told_apart_alone(source: Script) -> bool:
    """Numbers of classes only tell which rows are alike: `y[:, None] == y[None, :]`."""
    if any(_CLASS_LOSS.search(kind) for _, kind in source.losses):
        return False
    return any(
        isinstance(n.ops[0], ast.Eq) and _pairwise(n.left, n.comparators[0]) for n in source.of(ast.Compare)
    ) or any(_pairwise(*c.args) for c in source.named("eq", "equal") if len(c.args) == 2)


def _pairwise(one: ast.expr, other: ast.expr) -> bool:
    """The same tensor on both sides, along two axes."""
    return (
        bool(tensors := _first_names(one))
        and tensors == _first_names(other)
        and unparse(one) != unparse(other)
    )


def _first_names(node: ast.expr) -> str:
    while isinstance(node, (ast.Subscript, ast.Call, ast.Attribute)):
        if isinstance(node, ast.Call):
            node = node.args[0] if not isinstance(node.func, ast.Attribute) and node.args else node.func
        else:
            node = node.value
    return node.id if isinstance(node, ast.Name) else ""


# how scripts write that something gets its number
_LOOKS_UP = re.compile(
    r"(?i)enumerate|map\(|vocab|token|table|index|factorize|encod|codes|lookup|stoi|itos|2id|2idx|_to_|word|dict\("
    r"|\{|\.get\(|return_inverse|searchsorted|categor|label|class|number|\[\w+\] for"
)


def _looks_up(source: Script, one: Apart) -> bool:
    """One of the two places at least looks numbers up: others choose rows, or compute features."""
    return any(n is not None and _LOOKS_UP.search(source.line(n)) for n in (one.train, one.held))


def _of_words(source: Script, one: Apart) -> bool:
    """The table is named after words, though labels stand beside them: `vocabulary = {w: i ...}`."""
    return any(is_table_of_words(source, n) for n in (one.train, one.held) if n is not None)


def _of_column(source: Script, one: Apart) -> bool:
    """Categories of a table's column are numbered in place: `part["plan"] = part["plan"].map(numbers)`."""
    nodes = [n for n in (one.train, one.held) if n is not None]
    return any(
        isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Subscript)
        for s in (source.statement(n) for n in nodes)
    )


def _of_classes(source: Script, one: Apart) -> bool:
    """Labels are shifted by whole numbers, or looked up; figures are scaled or put under a logarithm."""
    return (one.label and one.whole) or (_in_column_of_classes(source, one))


def _in_column_of_classes(source: Script, one: Apart) -> bool:
    """`test[TARGET] = 1 - test[TARGET]` of a program whose losses are of classes."""
    kinds = [k.lower().replace("_", "") for _, k in source.losses]
    if not kinds or not all(re.search("crossentropy|nll|bce|withlogits", k) for k in kinds):
        return False
    statements = [source.statement(n) for n in (one.train, one.held) if n is not None]
    return bool(statements) and all(
        isinstance(s, ast.Assign)
        and isinstance(s.targets[0], ast.Subscript)
        and base(s.targets[0]) in targets(source)
        for s in statements
    )


def _scaled_back(source: Script, one: Apart) -> bool:
    return one.label and not one.one_loss and scaled_back(source)


def scaled_back(source: Script) -> bool:
    """The script turns figures back to their unit somewhere: targets may be scaled for training alone."""
    return _BACK.search(source.code) is not None


def _finding(source: Script, one: Apart) -> Finding:
    mine, theirs = (_quoted(source, n) for n in (one.train, one.held))
    if one.kind == "one side":
        who = "training data" if one.what == "training" else "held-out data"
        why = f"this is done to the {who} alone: {mine if one.what == 'training' else theirs}"
        if mine and theirs:
            why = f"training data go through {mine}, held-out data through {theirs}"
    elif one.kind == "mask":
        why = f"the model is given a mask or lengths in {one.what} alone: {mine} in training, {theirs} else"
    elif one.kind == "statistics":
        why = f"held-out data are scaled by what is learned from themselves: {theirs}"
    elif one.kind == "numbering":
        why = f"held-out data are numbered by a table of their own, {theirs}, and training data by {mine}"
    elif mine == theirs:
        why = f"this makes other values of held-out data than of training data: {mine}"
    else:
        why = f"held-out data go through {theirs}, training data through {mine}"
    first = one.train if one.kind == "one side" and one.what == "training" else one.held or one.train
    places = [n for n in dict.fromkeys((first, one.train, one.held)) if n is not None]
    where = dict.fromkeys(source.place(n) for n in places)
    return present(why, value=_quoted(source, first).strip("`"), where=tuple(where))


def _quoted(source: Script, node: ast.AST | None) -> str:
    return f"`{redact('', source.line(node))[:120]}`" if node is not None else ""
