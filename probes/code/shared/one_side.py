"""What a script does to the training side alone: whether held-out data get the same, or come out of it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache

from ...readers._tree import names_in, of, unparse
from ...readers.script import keyword, last_name
from ...scripts.flow import flow, losses
from ...scripts.learning import taken
from ...scripts.syntax import Script
from .numbers import known
from .sides import given, side, stem

_NAMES = re.compile(r"[A-Za-z_][\w.]*")
_CLASSES = re.compile(
    r"(?i)cross_?entropy|nll_?loss|bce_?(?:with|loss)|binary_cross|num_class|n_class|accuracy|softmax"
)


def classifies(source: Script) -> bool:
    """The script learns classes."""
    return _CLASSES.search(source.code) is not None


@lru_cache(maxsize=4096)
def neutral(text: str) -> str:
    """A text without the words of its side: `train_y[train_y == 3] = 2` -> `y[y == 3] = 2`."""
    return _NAMES.sub(lambda m: _stems(m[0]) if side(m[0]) is not None else m[0], text)


def _stems(name: str) -> str:
    return ".".join(stem(p) if side(p) is not None else p for p in name.split("."))


def done_to_held_out(source: Script, node: ast.stmt) -> bool:
    """Another statement does the same to a name of held-out data; or to what has no name of a side."""
    text = neutral(unparse(node))
    mine = unparse(node)
    return any(
        other is not node and neutral(unparse(other)) == text and unparse(other) != mine
        for other in source.of(type(node))
    )


def comes_out_of(source: Script, name: str, after: int) -> bool:
    """Held-out data are cut out of a training name below a line: `val_y = train_y[-800:]`."""
    word = re.compile(rf"(?<![\w.]){re.escape(name)}(?!\w)")
    for one in given(source):
        if not one.learns and getattr(one.node, "lineno", 0) >= after and word.search(unparse(one.value)):
            return True
    for node in source.of(ast.Assign):
        target = node.targets[0]
        pairs = isinstance(node.value, ast.Tuple)  # which are looked at one by one above
        if node.lineno <= after or pairs or not isinstance(target, ast.Tuple):
            continue
        if word.search(unparse(node.value)):
            if any(side(unparse(t)) is False for t in target.elts):
                return True
    return False


def has_held_out(source: Script) -> bool:
    """Something of the script is named after held-out data."""
    return any(not one.learns for one in given(source)) or any(
        side(n.id) is False for n in source.of(ast.Name)
    )


@lru_cache(maxsize=16)
def training_loops(source: Script) -> tuple[tuple[ast.For, tuple[str, ...]], ...]:
    """Loops over batches that do nothing but train, with the names that they hand out.

    A loop whose step stands under a condition (`if phase == "train":`) goes over held-out data as well.
    """
    found: dict[ast.For, tuple[str, ...]] = {}
    for call in taken(source):
        loop = next(iter(source.loops_around(call)), None)
        if isinstance(loop, ast.For) and not _by_choice(source, call, loop):
            found[loop] = tuple(handed_out(loop))
    return tuple(found.items())


def handed_out(loop: ast.For) -> Iterator[str]:
    """Names that a loop binds, and those that its first statements unpack out of them: `x, y = batch`."""
    names = [n.id for n in of(loop.target, ast.Name)]
    yield from names
    for node in loop.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple):
            read = names_in(node.value)
            if read & set(names):
                yield from (n.id for n in of(node.targets[0], ast.Name) if n.id not in names)


def _by_choice(source: Script, call: ast.Call, loop: ast.For) -> bool:
    for above in source.above(call):
        if above is loop:
            return False
        if isinstance(above, ast.If) and re.search(r"(?i)train|phase|split|mode", unparse(above.test)):
            return True
    return False


def loss_targets(source: Script) -> frozenset[str]:
    """Names that a loss compares answers with."""
    found = {unparse(c.args[1]) for c, _ in losses(source) if len(c.args) > 1}
    return frozenset(n for n in found if re.fullmatch(r"\w+", n))


_CHANCE = frozenset(("rand", "rand_like", "random", "uniform", "random_sample"))


def chance(source: Script, node: ast.expr) -> float | None:
    """How probable it is that a drawn mask holds: `torch.rand_like(x) < 0.3` -> 0.3; None if it is none."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr not in (
            "float",
            "to",
            "astype",
            "bool",
            "type_as",
            "type",
            "int",
            "long",
            "unsqueeze",
        ):
            break
        node = node.func.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Invert, ast.Not)):
        inner = chance(source, node.operand)
        return None if inner is None else 1 - inner
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) and known(source, node.left) == 1.0:
        inner = chance(source, node.right)
        return None if inner is None else 1 - inner
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        drawn = isinstance(node.left, ast.Call) and last_name(node.left.func) in _CHANCE
        bound = known(source, node.comparators[0]) if drawn else None
        if bound is None or not 0 <= bound <= 1:
            return None
        if isinstance(node.ops[0], (ast.Lt, ast.LtE)):
            return bound
        return 1 - bound if isinstance(node.ops[0], (ast.Gt, ast.GtE)) else None
    if isinstance(node, ast.Call):
        return _of_coin(source, node)
    ways = [v for v in flow(source).values(node, 3) if v is not node] if isinstance(node, ast.Name) else []
    return chance(source, ways[0]) if len(ways) == 1 else None


def _of_coin(source: Script, node: ast.Call) -> float | None:
    """`bernoulli(full_like(x, p))`, `empty_like(x).bernoulli_(p)`, `rng.binomial(1, p, shape)`."""
    name, share = last_name(node.func), None
    if name == "bernoulli_" and node.args:
        share = node.args[0]
    elif name == "bernoulli" and node.args:
        share = node.args[0]
        if (
            isinstance(share, ast.Call)
            and last_name(share.func) in ("full_like", "full")
            and len(share.args) > 1
        ):
            share = share.args[1]
    elif name == "binomial" and len(node.args) > 1 and known(source, node.args[0]) == 1.0:
        share = node.args[1]
    elif name == "choice" and node.args and unparse(node.args[0]) in ("[0, 1]", "2", "[0.0, 1.0]"):
        table = keyword(node, "p")
        share = table.elts[1] if isinstance(table, (ast.List, ast.Tuple)) and len(table.elts) == 2 else None
    return known(source, share)
