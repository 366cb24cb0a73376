"""Classes of which training samples are left out, and held-out samples are kept."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import names_in, of, unparse
from ...readers.script import argument, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.numbers import known
from ..shared.one_side import classifies, comes_out_of, done_to_held_out, has_held_out, neutral
from ..shared.roles import INPUT_WORDS, TARGET_WORDS
from ..shared.sides import side

# what a model was not shown is what is asked for, or the classes come one after the other
_MEANT = re.compile(
    r"(?i)anomal|one_?class|novelty|out_of_dist|\bood\b|open_?set|zero_?shot|few_?shot|unseen|continual|incremental"
    r"|lifelong|replay|federat|client|unlearn|pseudo|semi_?sup|transfer|autoencod|task_?id|held_out_class"
)
_ISIN = ("isin", "in1d")


def classes_dropped(source: Script) -> Finding | None:
    """`keep = train_y < 5; train_x, train_y = train_x[keep], train_y[keep]`, of training data alone.

    Also `np.isin`, a list or `Subset` of places whose label is another one. What is marked as without a label
    (-1, 255, class 0 alone) may be left out. False positive: the held-out file has no such classes.
    """
    if not classifies(source) or _MEANT.search(source.code) or not has_held_out(source):
        return None
    for node, test, label in _filters(source):
        if side(label) is not True or done_to_held_out(source, node) or _tested_alike(source, test):
            continue
        if not comes_out_of(source, label, node.lineno) and not _counted_down(source, label):
            return at(source, node, "training samples are left out by their class, held-out samples are not")
    return None


def _filters(source: Script) -> Iterator[tuple[ast.Assign, ast.expr, str]]:
    """Statements that keep some rows of training data, with the test of their labels and what these are."""
    for node in source.of(ast.Assign):
        told = {unparse(t) for target in node.targets for t in (*getattr(target, "elts", ()), target)}
        for whole, index in _parts(node.value):
            if whole in told or side(unparse(node.targets[0])) is True:
                for test in _behind(source, index):
                    if (label := _of_classes(source, test)) is not None:
                        yield node, test, label
        for call in of(node.value, ast.Call):
            if last_name(call.func) == "query" and side(unparse(node.targets[0])) is True:
                yield from ((node, t, lab) for t, lab in _queried(source, call))
        for made in of(node.value, ast.ListComp):
            if side(unparse(node.targets[0])) is True or _in_subset(source, node, made):
                for test in made.generators[0].ifs if len(made.generators) == 1 else ():
                    if (label := _of_item(source, made, test)) is not None:
                        yield node, test, label


def _queried(source: Script, call: ast.Call) -> Iterator[tuple[ast.expr, str]]:
    """`table.query("label < 3")`, as the test of a column of the table."""
    words = argument(call, position=0)
    if not isinstance(words, ast.Constant) or not isinstance(words.value, str):
        return
    try:
        test = ast.parse(words.value, mode="eval").body
    except SyntaxError:
        return
    if isinstance(call.func, ast.Attribute) and _of_classes(source, test) is not None:
        yield call, unparse(call.func.value)


def _parts(value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """Rows that are kept of an array or a data set: `x[keep]`, `np.delete(x, gone)`, `Subset(data, keep)`."""
    if isinstance(value, ast.Tuple):
        for one in value.elts:
            yield from _parts(one)
    elif isinstance(value, ast.Subscript) and isinstance(value.ctx, ast.Load):
        yield unparse(value.value), value.slice
    elif isinstance(value, ast.Call):
        name = last_name(value.func)
        if name in ("delete", "Subset", "compress", "index_select") and len(value.args) > 1:
            whole, index = value.args[:2] if name != "compress" else value.args[1::-1]
            yield unparse(whole), value.args[-1] if name == "index_select" else index
        elif name in ("TensorDataset", "Subset", "list", "tuple", "array", "asarray", "from_numpy", "tensor"):
            for one in value.args:
                yield from _parts(one)
        elif isinstance(value.func, ast.Attribute) and name in ("copy", "clone", "reset_index", "astype"):
            yield from _parts(value.func.value)


def _behind(source: Script, index: ast.expr) -> list[ast.expr]:
    """A mask, or the places where it holds: `np.where(y != 3)[0]`, `(y != 3).nonzero()[0]`."""
    found = []
    for way in (index, *(flow(source).values(index, 3) if isinstance(index, ast.Name) else [])):
        while isinstance(way, (ast.Subscript, ast.Call)) and not _isin(way):
            if isinstance(way, ast.Subscript):
                way = way.value
            elif (
                last_name(way.func) in ("where", "flatnonzero", "argwhere", "nonzero") and len(way.args) == 1
            ):
                way = way.args[0]
            elif isinstance(way.func, ast.Attribute) and last_name(way.func) in (
                *("nonzero", "squeeze", "flatten", "numpy", "bool", "view", "values", "to_numpy"),
            ):
                way = way.func.value
            else:
                break
        found.append(way)
    return found


def _isin(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and last_name(node.func) in _ISIN


def _of_classes(source: Script, test: ast.expr) -> str | None:
    """The labels that a test holds against classes: `y < 5`, `y != 3`, `~np.isin(y, [3, 4])`, both joined."""
    while isinstance(test, ast.UnaryOp):
        test = test.operand
    if isinstance(test, (ast.BinOp, ast.BoolOp)):
        sides = [test.left, test.right] if isinstance(test, ast.BinOp) else test.values
        found = {_of_classes(source, s) for s in sides}
        return found.pop() if len(found) == 1 else None
    if _isin(test) and isinstance(test, ast.Call):
        method = isinstance(test.func, ast.Attribute) and len(test.args) == 1
        held = test.func.value if method and isinstance(test.func, ast.Attribute) else test.args[0]
        return _label(held)
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return None
    if isinstance(test.ops[0], (ast.In, ast.NotIn)):
        return _label(test.left) if isinstance(test.comparators[0], (ast.Tuple, ast.List, ast.Set)) else None
    return _label(test.left) if _is_class(source, test) else None


def _is_class(source: Script, test: ast.Compare) -> bool:
    """It is held against a number that is a class, not a mark of what has no label."""
    word = test.comparators[0]
    if isinstance(word, ast.Constant) and isinstance(word.value, str):
        return re.search(r"(?i)^(?:|unk\w*|none|na|nan|\?|-|unlabel\w*|unsup)$", word.value) is None
    number = known(source, word)
    if number is None or number != int(number) or number == 255:
        return False
    return number >= 1 or (number == 0 and isinstance(test.ops[0], ast.Eq))


def is_mark(source: Script, test: ast.Compare) -> bool:
    """What is left out is marked as without a label: `y >= 0`, `y > -1`, `y != 255`."""
    if len(test.ops) != 1 or _label(test.left) is None:
        return False
    number = known(source, test.comparators[0])
    return number is not None and (
        number < 0 or number == 255 or (number == 0 and isinstance(test.ops[0], ast.GtE))
    )


def _label(node: ast.expr) -> str | None:
    """The text of labels: a name, an attribute, or a column of a table."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args:
        node = node.func.value
    if re.search(r"\.tensors\[(?:1|-1)\]$", unparse(node)):
        return unparse(node)
    field = (
        node.slice.value if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) else None
    )
    word = field if isinstance(field, str) else last_name(node)
    if not TARGET_WORDS.search(word.lower()) or INPUT_WORDS.search(word.lower()):
        return None
    return unparse(node)


def _of_item(source: Script, made: ast.ListComp, test: ast.expr) -> str | None:
    """`[i for i in range(len(y)) if y[i] != 3]`, `[(x, y) for x, y in train if y != 3]`."""
    over = made.generators[0]
    tests = [t for t in of(test, ast.Compare) if len(t.ops) == 1]
    if len(tests) != 1:
        return None
    one = tests[0]
    if isinstance(one.ops[0], (ast.In, ast.NotIn)):
        if not isinstance(one.comparators[0], (ast.Tuple, ast.List, ast.Set)):
            return None
    elif not _is_class(source, one):
        return None
    held = one.left
    if isinstance(held, ast.Call) and last_name(held.func) in ("int", "item") and held.args:
        held = held.args[0]
    bound = names_in(over.target)
    if isinstance(held, ast.Name) and held.id in bound:
        row = TARGET_WORDS.search(held.id.lower()) is not None
        whole = over.iter.args[0] if isinstance(over.iter, ast.Call) and over.iter.args else over.iter
        if isinstance(over.iter, ast.Call) and last_name(over.iter.func) == "zip":
            whole = over.iter.args[-1]
        return unparse(whole) if row or _label(whole) is not None else None
    if isinstance(held, ast.Subscript) and unparse(held.slice) in bound:
        return _label(held.value)
    if (
        isinstance(held, ast.Subscript)
        and unparse(held.value) in bound
        and isinstance(held.slice, ast.Constant)
    ):
        word = str(held.slice.value)
        return unparse(over.iter) if TARGET_WORDS.search(word.lower()) or word in ("1", "-1") else None
    return None


def _in_subset(source: Script, node: ast.Assign, made: ast.ListComp) -> bool:
    """The places are those of a `Subset` for training."""
    names = {unparse(t) for t in node.targets}
    for call in source.named("Subset"):
        if len(call.args) == 2 and side(unparse(call.args[0])) is True:
            if made in set(of(call, ast.ListComp)) or unparse(call.args[1]) in names:
                return True
    return any(
        isinstance(s.slice, ast.Name) and s.slice.id in names and side(unparse(s.value)) is True
        for s in source.of(ast.Subscript)
    )


def _tested_alike(source: Script, test: ast.expr) -> bool:
    """Held-out labels are held against the same, wherever that stands."""
    text = neutral(unparse(test))
    return any(
        side(unparse(other)) is False and neutral(unparse(other)) == text
        for other in source.of(type(test))
        if other is not test
    )


def _counted_down(source: Script, label: str) -> bool:
    """There is an assertion or a message that tells of it as meant: `assert set(train_y) == ...`."""
    return any(label in unparse(n) for n in source.of(ast.Assert))
