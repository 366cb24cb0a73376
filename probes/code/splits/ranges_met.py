"""Ranges of one data set that are drawn from for both sides: `Subset(data, range(n))`, samplers of ranges."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...readers._tree import unparse
from ...readers.script import argument, keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.numbers import known
from ..shared.sides import side

_Range = tuple[ast.expr | None, ast.expr]  # begin (None: 0) and end


def ranges_meet(source: Script) -> Finding | None:
    """`SubsetRandomSampler(range(n))` for training and `SubsetRandomSampler(range(m))` for what is held out.

    Told where both begin at the same row, or where all bounds are known and meet; of the same data set only.
    """
    if not source.named("Subset", "SubsetRandomSampler"):
        return None
    parts = list(_parts(source))
    for held, held_data, theirs in parts:
        for mine, my_data, ours in parts:
            learns, scores = side(mine) is True, side(held) is False
            if learns and scores and my_data == held_data and _meet(source, ours, theirs):
                return at(source, theirs[1], f"`{held}` draws from rows that `{mine}` draws from")
    return None


def _parts(source: Script) -> Iterator[tuple[str, str, _Range]]:
    """The name of a part, the data that it is drawn from, and its range."""
    for node in source.of(ast.Assign):
        call, name = node.value, unparse(node.targets[0])
        if not isinstance(call, ast.Call) or any(isinstance(p, ast.If) for p in source.above(node)):
            continue
        if last_name(call.func) == "Subset" and len(call.args) == 2:
            data, about = call.args
        elif last_name(call.func) == "DataLoader":
            given = argument(call, "dataset", position=0)
            sampler = _drawn(source, keyword(call, "sampler"))
            if given is None or sampler is None:
                continue
            data, about = given, sampler
        else:
            continue
        found = _range(source, about)
        if found is not None and len(flow(source).all_given(data)) < 2:  # a name may be given other data
            function = source.function_around(node)
            yield name, f"{function.lineno if function else 0} {unparse(data)}", found


def _drawn(source: Script, sampler: ast.expr | None) -> ast.expr | None:
    """What a `SubsetRandomSampler` draws from."""
    ends = flow(source).values(sampler, 4) if sampler is not None else []
    made = ends[0] if len(ends) == 1 else None
    if isinstance(made, ast.Call) and last_name(made.func) == "SubsetRandomSampler" and len(made.args) == 1:
        return made.args[0]
    return None


def _range(source: Script, node: ast.expr) -> _Range | None:
    ends = flow(source).values(node, 4)
    made = ends[0] if len(ends) == 1 else None
    while isinstance(made, ast.Call) and unparse(made.func) in ("list", "np.array") and len(made.args) == 1:
        made = made.args[0]
    if not (isinstance(made, ast.Call) and unparse(made.func) in ("range", "np.arange", "torch.arange")):
        return None
    if made.keywords or len(made.args) not in (1, 2):
        return None
    return (None if len(made.args) == 1 else made.args[0]), made.args[-1]


def _meet(source: Script, one: _Range, other: _Range) -> bool:
    begins = [0.0 if b is None else known(source, b) for b in (one[0], other[0])]
    ends = [known(source, e) for e in (one[1], other[1])]
    if None not in (*begins, *ends):
        (a, c), (b, d) = begins, ends
        return a < d and c < b  # type: ignore[operator]
    texts = ["0" if b is None else unparse(b) for b in (one[0], other[0])]
    return texts[0] == texts[1]
