"""What a switch that tells training from held-out data changes in scripts: scales, labels."""

from __future__ import annotations

import ast
import re

from ...readers._tree import names_in, of, unparse, walk
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.syntax import Function, Script
from ..shared.checks import at
from ..shared.nodes import is_none, whole_number
from ..shared.roles import TARGET_WORDS, base, is_training_only, split_flags, targets

_SWITCH = re.compile(
    r"^(?:not )?(?:self\.)?_?(?:is_|do_|for_|in_)?(?:train(?:ing)?|fit|val|test|eval)(?:_mode|_set)?$"
)
_SPLIT = re.compile(r"(?:split|mode|phase|stage|subset|part) (?:==|!=|in|not in) ")
_SCALES = re.compile(
    r"(?i)standard|normal(?!_)|scal|unskew|log1p|whiten|cent(?:er|re)|equali[sz]|tokeni[sz]e|lower$"
)


def is_switch(source: Script, test: ast.expr) -> bool:
    """`self.train`, `split == "train"`, or a parameter by which the calls for the two splits differ."""
    text = unparse(test)
    if _SWITCH.match(text) or _SPLIT.search(text):
        return True
    names = {n.id if isinstance(n, ast.Name) else n.attr for n in of(test, ast.Name, ast.Attribute)}
    for owner, flags in split_flags(source).items():
        if owner in source.above(test) and names & flags:
            return isinstance(test, (ast.Name, ast.Attribute)) or (
                isinstance(test, ast.Compare) and unparse(test.comparators[0]) in ("0", "0.0", "None")
            )
    return False


def scaled_by_switch(source: Script) -> Finding | None:
    """`standardize(img) if self.train else img / 65535`: the scale of the inputs depends on the split.

    Left aside: anything random, augmentation, and statistics that are fitted to one split and used for both.
    """
    for node in source.of(ast.Assign, ast.Return):
        if not isinstance(node.value, ast.IfExp):
            continue
        choice = node.value
        if source.function_around(node) in source.forwards or not is_switch(source, choice.test):
            continue
        sides = (choice.body, choice.orelse)
        texts = [unparse(s) for s in sides]
        if any(
            is_training_only(s) or re.search(r"fit|partial|aug|Compose|lambda", t)
            for s, t in zip(sides, texts, strict=True)
        ):
            continue
        if isinstance(node, ast.Assign) and _is_label(source, node.targets[0]):
            continue
        shared = _names(sides[0]) & _names(sides[1])
        how = [_scaling(s) for s in sides]
        if shared and how[0] != how[1] and any(how) and all(h is not None for h in how):
            return at(source, node, "the scale of the inputs depends on whether they are for training")
    return None


def _names(node: ast.expr) -> set[str]:
    called = {id(n.func) for n in of(node, ast.Call)}
    return {n.id for n in of(node, ast.Name) if id(n) not in called} - {
        "self",
        "np",
        "torch",
    }


def _scaling(node: ast.expr) -> str | None:
    """What is done to the values: "" for nothing, None where it cannot be told."""
    if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
        return ""
    if isinstance(node, ast.Call):
        name = last_name(node.func)
        return name if _SCALES.search(name) else "" if name in ("copy", "float", "astype") else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Div, ast.Sub, ast.Mult)):
        return unparse(node)
    return None


def _is_label(source: Script, target: ast.expr) -> bool:
    name = base(target)
    return (
        name in targets(source) or TARGET_WORDS.search(name) is not None or bool(re.search(r"mask|seg", name))
    )


def labelled_by_switch(source: Script, _labels: bool = True) -> Finding | None:
    """What a label is compared with or looked up in depends on the split.

    `foreground = CELL if self.train else 0` and then `target = mask == foreground`; names in another order
    for held-out data. Left aside: labels that held-out data lack, smoothing, and anything random.
    """
    for node in source.of(ast.Assign):
        if not (isinstance(node.value, ast.IfExp) and isinstance(node.targets[0], ast.Name)):
            continue
        choice, name = node.value, node.targets[0].id
        function = source.function_around(node)
        if function is None or function in source.forwards:
            continue
        if not (is_switch(source, choice.test) or _tells_rounds(source, choice.test)):
            continue
        sides = (choice.body, choice.orelse)
        if len({re.sub(r"\.(?:detach|clone|data)\b(?:\(\))?", "", unparse(s)) for s in sides}) == 1:
            continue  # the same value without its gradient
        plain = any(is_none(s) for s in sides)
        if plain or any(is_training_only(s) for s in sides) or not _codes(sides):
            continue
        if _are_rows(function, name):
            continue
        used = _used_for_label(source, function, node, name)
        if used is not None:
            return at(source, node, "the coding of the labels depends on the split")
    return None


def _are_rows(function: Function, name: str) -> bool:
    """Whether pieces are cut out of what is chosen: the rows of either part, not what labels stand for."""
    return any(
        isinstance(n.value, ast.Name) and n.value.id == name and isinstance(n.slice, ast.Slice)
        for n in of(function, ast.Subscript)
    )


def _codes(sides: tuple[ast.expr, ast.expr]) -> bool:
    """Both are numbers of a class, or tables and lists of classes; not sizes, rates or paths."""
    numbers = [isinstance(s, ast.Name) or whole_number(s) is not None for s in sides]
    tables = [
        isinstance(s, (ast.Call, ast.DictComp, ast.ListComp, ast.Attribute, ast.Dict, ast.List))
        for s in sides
    ]
    return all(numbers) or all(tables)


def _tells_rounds(source: Script, test: ast.expr) -> bool:
    """The variable of a loop over the splits: `for i in range(3)`, `for name in ("train", "val")`."""
    names = names_in(test)
    for loop in (p for p in source.above(test) if isinstance(p, ast.For)):
        over = unparse(loop.iter)
        told = re.fullmatch(r"(?:enumerate\()?range\([23]\)\)?", over) or re.search(
            r"'(?:train|val|valid|test)'", over
        )
        if told and names & names_in(loop.target):
            return True
    return False


def _used_for_label(source: Script, function: Function, given: ast.Assign, name: str) -> ast.AST | None:
    for node in of(function, ast.Assign):
        if node is given or node.lineno < given.lineno:
            continue
        if not _is_label(source, node.targets[0]):
            continue
        for part in walk(node.value):
            reads = [n for n in of(part, ast.Name) if n.id == name]
            looked = isinstance(part, ast.Call) and last_name(part.func) in (
                "index",
                "searchsorted",
                "get",
                "map",
            )
            if reads and (isinstance(part, (ast.Compare, ast.Subscript)) or looked):
                return node
    return None
