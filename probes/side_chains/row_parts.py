"""Parts of the rows of a stand-in table: what conditions, indices, folds and splits by chance choose."""

from __future__ import annotations

import ast
import random
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from .stand_in import DEPTH, GROUPS, ROWS, Held, below, column_of, group_of, hashed, seed_of
from .values import Term
from .watched import Watch

_SPLITTERS = re.compile(r"(?i)fold|split|shuffle|series|leave")
_PARTS = re.compile(r"(?i)^reduce$|\w_split|split_\w|\w_partition|scaffold_|_scaffold|holdout|hold_out")


_EACH_PART = ("map", "cast_column", "rename_column", "remove_columns", "select_columns", "with_format")


class RowParts(ABC):
    """Chooses rows."""

    run: Watch
    buckets: dict[str, list[object]]

    @abstractmethod
    def held(self, t: Term, depth: int = DEPTH) -> Held | None:
        """The rows that a value holds; None where that cannot be told, or it is of no table or of several."""

    @abstractmethod
    def number(self, t: Term, depth: int) -> float | None:
        """The number behind a bound where a table has ROWS rows."""

    @abstractmethod
    def same(self, found: Iterator[Held | None]) -> Held | None:
        """What several values all are of."""

    def kept(self, rows: Held | None, mask: Held | None) -> Held | None:
        """The rows for which a condition holds."""
        if rows is None or mask is None or rows.groups != mask.groups:
            return None
        if mask.table == "#":  # by the numbers of places
            return replace(rows, rows=tuple(r for i, r in enumerate(rows.rows) if i in mask.all))
        if mask.table not in (rows.table, "*"):
            return None
        told = mask.all
        return replace(rows, rows=tuple(r for r in rows.rows if r in told))

    def turned(self, mask: Held | None) -> Held | None:
        """The rows for which a condition does not hold."""
        if mask is None or not mask.mask:
            return mask
        full = range(GROUPS if mask.groups else ROWS)
        return replace(mask, rows=tuple(r for r in full if r not in mask.all))

    def both(self, parts: list[Held | None], meet: bool) -> Held | None:
        """Rows for which several conditions hold, or any of them."""
        known = [p for p in parts if p is not None]
        if (
            len(known) < len(parts)
            or not known
            or any(p.table != known[0].table or not p.mask for p in known)
        ):
            return None
        found = known[0].all
        for one in known[1:]:
            found = found & one.all if meet else found | one.all
        return replace(known[0], rows=tuple(sorted(found)))

    def torn(self, rows: Held, seed: int, count: int | None = None) -> Held:
        """Rows in an order by chance, or as many of them."""
        order = list(rows.rows)
        random.Random(seed).shuffle(order)  # noqa: S311
        return replace(rows, rows=tuple(order[:count]), torn=rows.torn or rows.windows)

    def chosen(self, held: Held, index: Held) -> Held | None:
        """`rows[index]`."""
        if index.mask:
            return self.kept(held, index)
        if index.table == "#":
            n = len(held.rows)
            picked = tuple(held.rows[i] for i in index.rows if -n <= i < n)
            return replace(held, rows=picked, torn=held.torn or (held.windows and index.torn))
        if index.table == held.table and index.groups == held.groups:
            return replace(
                held, rows=tuple(r for r in index.rows if r in held.all), torn=held.torn or index.torn
            )
        return None

    def part(self, whole: Term, place: Term, depth: int) -> Held | None:
        """An item of what a split gives."""
        while whole.name in _EACH_PART and whole.head.startswith("call:") and whole.args:
            whole = whole.args[0]  # done to each part of a split
        if place.head != "const" or not isinstance(place.value, int):
            if (
                place.head == "const"
                and place.value in ("train", "test")
                and whole.head == "call:train_test_split"
            ):
                return self.shared(whole.args[0], whole, 0 if place.value == "train" else 1, depth)
            return None
        at = place.value
        if whole.head == "call:train_test_split":
            owner = whole.args[at // 2] if 0 <= at < 2 * len(whole.args) else None
            return self.shared(owner, whole, at % 2, depth) if owner is not None else None
        if whole.head in ("call:random_split", "call:array_split", "call:split") and whole.args:
            return self.cut_up(whole, at, depth)
        if _PARTS.search(whole.name) and whole.head.startswith("call:") and 0 <= at < 3:
            rows = self.same(self.held(a, depth) for a in (*whole.args, *whole.kw.values()))
            if rows is None:
                return None
            shares = ((0, 0.7), (0.7, 0.85), (0.85, 1.0))[at]
            mixed = self.torn(rows, seed_of(whole.key, "parts"))
            cut = [round(len(rows.rows) * x) for x in shares]
            return replace(rows, rows=mixed.rows[cut[0] : cut[1]])
        inner = whole
        if inner.head == "each" or (inner.head == "call:next" and inner.args):
            inner = inner.args[0]
        if inner.head == "call:list" and inner.args:
            inner = inner.args[0]
        if inner.head == "call:split" and len(inner.args) >= 2 and inner is not whole and at in (0, 1):
            if _SPLITTERS.search(inner.args[0].name or str(inner.args[0].value)):
                rows = self.held(inner.args[1], depth)
                return self.by_groups(rows, inner, at) if rows is not None else None
        return None

    def by_groups(self, rows: Held, split: Term, at: int) -> Held:
        """Training and held-out rows of a fold: a fifth of the groups, or of the rows."""
        told = split.kw.get("groups")
        by = told is not None and told.head != "const"
        seed = seed_of(split.args[0].key, split.key)
        salt = seed_of(column_of(told)) if by and told is not None else 0
        kept = [r for r in rows.rows if (hashed(group_of(r, salt) if by else r, seed) % 5 == 0) is (at == 1)]
        series = "series" in (split.args[0].name or "").lower()
        return replace(rows, rows=tuple(kept), torn=rows.torn or (rows.windows and not series and not by))

    def shared(self, owner: Term, split: Term, side: int, depth: int) -> Held | None:
        """One of the two parts of `train_test_split`."""
        rows = self.held(owner, depth)
        if rows is None:
            return None
        ordered = split.kw.get("shuffle")
        share = self.share(split, depth)
        cut = round(len(rows.rows) * (1 - share))
        chance = not (ordered is not None and ordered.head == "const" and ordered.value in (False, "False"))
        mixed = self.torn(rows, seed_of(split.key, "tts")) if chance else rows
        return replace(mixed, rows=mixed.rows[:cut] if side == 0 else mixed.rows[cut:])

    def share(self, split: Term, depth: int) -> float:
        """The share of the held-out part."""
        for key in ("test_size", "train_size"):
            if key in split.kw:
                told = self.number(split.kw[key], depth)
                if told is not None and 0 < told < 1:
                    return told if key == "test_size" else 1 - told
        return 0.25

    def cut_up(self, whole: Term, at: int, depth: int) -> Held | None:
        """One of the parts of a split by sizes or places."""
        rows = self.held(whole.args[0], depth)
        sizes = whole.args[1] if len(whole.args) > 1 else whole.kw.get("lengths")
        if rows is None or sizes is None:
            return None
        random_ = whole.head == "call:random_split"
        numbers = [self.number(a, depth) for a in sizes.args] if sizes.head == "tuple" else []
        if not numbers or any(n is None for n in numbers):
            if not random_ or not 0 <= at < max(len(sizes.args), 1):
                return None
            numbers = (
                [0.8, *([0.2 / (len(sizes.args) - 1)] * (len(sizes.args) - 1))] if len(sizes.args) > 1 else []
            )
            if not numbers:
                return None
        told = [float(n or 0) for n in numbers]
        n = len(rows.rows)
        if random_:
            total = sum(told) or 1.0
            ends = [round(sum(told[: i + 1]) / total * n) for i in range(len(told))]
            mixed = self.torn(rows, seed_of(whole.key, "rs"))
        else:
            sizes_ = round(sum(told)) == n
            sizes_ = sizes_ or any(a > b for a, b in pairwise(told))  # places ascend
            ends = [below(int(b), n) or 0 for b in told] + [n]
            if sizes_:
                ends = [round(sum(told[: i + 1]) / sum(told) * n) for i in range(len(told))]
            mixed = rows
        if not 0 <= at < len(ends):
            return None
        return replace(mixed, rows=mixed.rows[(ends[at - 1] if at else 0) : ends[at]])

    def compare(self, t: Term, depth: int) -> Held | None:
        """The rows for which a comparison holds."""
        node = t.node
        if not isinstance(node, ast.Compare) or len(node.ops) != 1 or len(t.args) != 2:
            return self.between(t, depth)
        left, right, op = t.args[0], t.args[1], node.ops[0]
        return self.condition(left, right, op, depth)

    def between(self, t: Term, depth: int) -> Held | None:
        """`a <= x < b`."""
        if not isinstance(t.node, ast.Compare) or len(t.args) != 3:
            return None
        turned = {ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE}
        first = turned.get(type(t.node.ops[0]))
        if first is None:
            return None
        one = self.condition(t.args[1], t.args[0], first(), depth)
        other = self.condition(t.args[1], t.args[2], t.node.ops[1], depth)
        return self.both([one, other], True)

    def condition(self, left: Term, right: Term, op: ast.cmpop, depth: int) -> Held | None:
        """The rows for which a comparison of two values holds."""
        rows = self.held(left, depth)
        if rows is None and self.held(right, depth) is not None and isinstance(op, (ast.Eq, ast.NotEq)):
            left, right, rows = right, left, self.held(right, depth)
        if isinstance(op, (ast.In, ast.NotIn)):
            mask = self.member(left, right, rows, depth)
            return self.turned(mask) if isinstance(op, ast.NotIn) else mask
        if rows is None:
            if not left.drawn:
                return None
            rows = Held("*", ())
        if isinstance(op, (ast.Eq, ast.NotEq)):
            mask = self.bucket(left, right, rows)
            return self.turned(mask) if isinstance(op, ast.NotEq) else mask
        if isinstance(op, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)):
            mask = self.band(left, right, rows, "upto" if isinstance(op, (ast.LtE, ast.Gt)) else "below")
            return self.turned(mask) if mask and isinstance(op, (ast.Gt, ast.GtE)) else mask
        return None

    def full(self, rows: Held) -> range:
        """All rows, or all groups."""
        return range(GROUPS if rows.groups else ROWS)

    def bucket(self, left: Term, right: Term, rows: Held) -> Held | None:
        """The rows whose value in a column is one that is told: one in twenty for each value."""
        column = column_of(left)
        if any(_orders(t) for t, _ in self.asked_of(column)):
            return self.band(left, right, rows, "at")
        values = self.buckets.setdefault(f"{rows.table}{column}", [])
        told: object = right.value if right.head == "const" else ("key", right.key)
        if told not in values:
            values.append(told)
        at, seed = values.index(told) % 20, seed_of(column)
        return replace(rows, rows=tuple(r for r in self.full(rows) if hashed(r, seed) % 20 == at), mask=True)

    def asked_of(self, column: str) -> Iterator[tuple[Term, Term]]:
        """Comparisons of a column, and what it is compared with."""
        for t in self.run.compares:
            for one, other in pairwise(t.args):
                if column_of(one) == column:
                    yield t, other
                elif column_of(other) == column:
                    yield t, one

    def band(self, left: Term, right: Term, rows: Held, which: str) -> Held | None:
        """The rows below a value, up to it, or at it.

        The stand-in is in the order of the column; each value that the script asks for has a band of its own.
        """
        bounds = {other.key: other for t, other in self.asked_of(column_of(left)) if _of_value(t)}
        bounds.setdefault(right.key, right)
        told = list(bounds.values())
        if all(b.head == "const" and isinstance(b.value, (int, float, str)) for b in told):
            if len({isinstance(b.value, str) for b in told}) > 1:
                return None
            told.sort(key=lambda b: b.value)
        at, n = next(i for i, b in enumerate(told) if b.key == right.key), 2 * len(told) + 1
        order: Sequence[int] = self.full(rows)
        if rows.table == "*" or left.drawn:
            mixed = list(order)
            random.Random(seed_of(left.key)).shuffle(mixed)  # noqa: S311
            order = mixed
        low, high = ((2 * at + k) * len(order) // n for k in (1, 2))
        chosen = {"below": order[:low], "upto": order[:high], "at": order[low:high]}[which]
        return replace(rows, rows=tuple(sorted(chosen)), mask=True)

    def member(self, left: Term, right: Term, rows: Held | None, depth: int) -> Held | None:
        """Rows whose value in a column is among others."""
        if rows is None:
            return None
        group = self.held(right, depth)
        if group is not None and group.table == rows.table:
            if group.groups and not rows.groups:
                if group.groups != column_of(left):
                    return None
                salt, told = seed_of(group.groups), group.all
                return replace(
                    rows, rows=tuple(r for r in range(ROWS) if group_of(r, salt) in told), mask=True
                )
            if group.groups == rows.groups and (
                not group.groups or not rows.groups or group.groups == rows.groups
            ):
                inside_ = group.all
                if not group.groups and column_of(left) != column_of(right):
                    return None
                return replace(rows, rows=tuple(r for r in self.full(rows) if r in inside_), mask=True)
            return None
        if right.head == "tuple" and right.args and all(self.held(a, depth) is None for a in right.args):
            parts = [self.bucket(left, a, rows) for a in right.args]
            return self.both(list(parts), False)
        return (
            self.bucket(left, right, rows)
            if group is None and right.head in ("leaf", "const", "attr")
            else None
        )


def _orders(t: Term) -> bool:
    """It compares by order."""
    ops = t.node.ops if isinstance(t.node, ast.Compare) else []
    return any(isinstance(o, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)) for o in ops)


def _of_value(t: Term) -> bool:
    ops = t.node.ops if isinstance(t.node, ast.Compare) else []
    return not any(isinstance(o, (ast.In, ast.NotIn, ast.Is, ast.IsNot)) for o in ops)
