"""What is done to data, told so that it can be held against what is done to other data."""

from __future__ import annotations

import ast
import copy
import re

from ...readers._tree import unparse, walk
from ...readers.script import all_arguments, last_name, receiver
from ..samples.batches import symbol

Change = ast.Assign | ast.AugAssign
LAYS_OUT = frozenset(("reshape", "view", "unflatten", "expand", "resize"))  # values stay what they are
_BOTH = re.compile(r"(?<![a-z])train_?(?:and_?)?(?:val|valid|dev)(?![a-z])")


def plain_words(text: str) -> str:
    """In small letters; `train_val` is the part of training, before it is parted once more."""
    return _BOTH.sub("train", text.lower())


class _Whole(ast.NodeTransformer):
    """Takes the rows that are chosen off what they are chosen of: `y[~is_val]`, `Subset(x, rows)`."""

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """Keep the items of tuples and dicts."""
        self.generic_visit(node)
        return node if isinstance(node.slice, (ast.Constant, ast.Tuple)) else node.value

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """The whole of a subset."""
        self.generic_visit(node)
        return node.args[0] if last_name(node.func) == "Subset" and node.args else node


def doing(value: ast.expr) -> str:
    """What is done, whatever it is done to: names, and what a function of the script is told, left out."""
    value = _Whole().visit(copy.deepcopy(value))
    if isinstance(value, ast.Call) and not any(isinstance(n, ast.BinOp) for n in walk(value)):
        given = all_arguments(value)
        told = [a for a in given if not isinstance(a, ast.Constant) and not _BATCHING.search(unparse(a))]
        return " ".join(
            "attr" if isinstance(a, ast.Attribute) and a is not value.func else _plain(a)
            for a in (value.func, *told)
        )
    return _plain(value)


_BATCHING = re.compile(r"(?i)^(?:[\w.]+[._])?(?:batch_?size|bsz|bs|batch|num_workers|workers)(?:_\w+)?$")
# rows that are picked by a mask or an index: `y[~is_val]`
_MASKED = re.compile(r"\[~?[\w.*]+\]")
_TURNED = re.compile(r"UnaryOp\(op=Invert\(\), operand=(Name\(.*?ctx=Load\(\)\))\)")


def _plain(node: ast.expr) -> str:
    text = re.sub(r"attr='\w*(?:train|val|valid|test|dev|eval)\w*'", "", ast.dump(node))
    return re.sub(r"id='\w+'", "", _TURNED.sub(r"\1", text))


class _LaidOut(ast.NodeTransformer):
    """An expression without the numbers of rows that it is laid out with: `x.reshape(60000, 28, 28, 1)`."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        inner = self.generic_visit(node)
        if isinstance(inner, ast.Call) and last_name(inner.func) in LAYS_OUT:
            owner = receiver(inner)
            if isinstance(owner, ast.Name) and owner.id in ("np", "tf", "torch", "jnp", "ops"):
                return inner.args[0] if inner.args else inner
            return owner if owner is not None else inner
        return inner if isinstance(inner, ast.expr) else node


def _laid_out(node: ast.expr) -> ast.expr:
    found = _LaidOut().visit(ast.parse(unparse(node), mode="eval").body)
    return found if isinstance(found, ast.expr) else node


# a floor under what is divided by: `/ (std + 1e-7)` is `/ std` for ordinary data
_DIVISOR = re.compile(r"/ \(([\w.*]+) \+ (?:[\d.]*e-0?[4-9]|[\d.]*e-1\d|[\w.]*eps\w*)\)")


def done_to(node: Change, split: str, other: str) -> str:
    """What is done, without the words of both splits: `x_test -= x_train_mean` as `x_train -= x_train_mean`.

    Whose statistics they are is asked elsewhere: of data scaled by their own.
    """
    sign = symbol(node.op) if isinstance(node, ast.AugAssign) else ""
    text = plain_words(unparse(_laid_out(node.value))).replace(".fit_transform(", ".transform(")
    for word in sorted((split, other), key=len, reverse=True):
        text = text.replace(word, "*")
    return sign + _MASKED.sub("[*]", _DIVISOR.sub(r"/ \1", text))
